/** @file benches.h  The benchmarks; main.c has their names. */
#ifndef BENCH_BENCHES_H
#define BENCH_BENCHES_H

struct bench;

void bench_idle_cpu(struct bench *b);
void bench_spawn_fib(struct bench *b);
void bench_spawn_fib_join(struct bench *b);
void bench_fold_sum(struct bench *b);
void bench_fold_exp(struct bench *b);
void bench_fold_small(struct bench *b);
void bench_fold_small_idle(struct bench *b);
void bench_fold_costly(struct bench *b);
void bench_value_only(struct bench *b);
void bench_grad_logistic(struct bench *b);
void bench_grad_logistic_taped(struct bench *b);
void bench_grad_logistic_taped_dot(struct bench *b);
void bench_grad_logistic_memory(struct bench *b);
void bench_grad_sparse(struct bench *b);
void bench_grad_sparse_touch(struct bench *b);
void bench_grad_models(struct bench *b);
void bench_grad_models_blocks(struct bench *b);
void bench_grad_gmm_taped(struct bench *b);
void bench_grad_gmm_10_25(struct bench *b);
void bench_grad_gmm_20_50(struct bench *b);
void bench_grad_rule(struct bench *b);
void bench_grad_misra(struct bench *b);
void bench_grad_expcos(struct bench *b);
void bench_grad_rational(struct bench *b);
void bench_grad_rbf(struct bench *b);
void bench_grad_models_uniform(struct bench *b);
void bench_reduce_product(struct bench *b);
void bench_reduce_max(struct bench *b);
void bench_reduce_logsumexp(struct bench *b);
void bench_reduce_variance(struct bench *b);
void bench_reduce_all(struct bench *b);
void bench_reduce_general(struct bench *b);

#endif
