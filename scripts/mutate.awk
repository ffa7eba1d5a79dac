# For check-mutations: reads sched/order.h and stress/model/mutations, rewrites the copies of sources in dir and prints
# mutable.h.

function slurp(file, text, line)
{
	text = ""
	while ((getline line <file) > 0)
		text = text line "\n"
	close(file)
	return text
}

function mutate(file, shipped, mutated, at, text, rest)
{
	text = slurp(file)
	at = index(text, shipped)
	rest = substr(text, at + length(shipped))
	if (!at || index(rest, shipped)) {
		print file ": not there once: " shipped >"/dev/stderr"
		failed = 1
	}
	# the shipped text may be mutated again, by another line
	text = substr(text, 1, at - 1) "(model_mutant == " mutants " ? (" mutated ") : (" shipped "))" rest
	printf "%s", text >file
	close(file)
}

/^#define FADI_[A-Z_]+ FADI_[A-Z_]+$/ {
	name = substr($2, 6)
	print "static rl::memory_order model_" name " = " $3 ";"
	print "#define " $2 " model_" name
	orders = orders "    {\"" name "\", &model_" name "},\n"
}

/^code \|/ {
	split($0, field, / \| /)
	name = field[2]
	mutants++
	names = names "    \"" name "\",\n"
	file = field[3]
	sub(/^sched/, dir, file)
	mutate(file, field[4], field[5])
}

END {
	print "static int model_mutant;"
	print "static const struct { const char *name; rl::memory_order *order; } model_orders[] = {\n" orders "};"
	print "static const char *const model_mutants[] = {\n" names "};"
	exit failed
}
