"""What people who know other toolkits type, and what it is called here."""

# Our key, and its names in transformers, fairseq, OpenNMT, lightning, scikit-learn, nanoGPT and papers. A name may stand in
# several lines: the first key that a run has is meant.
OTHERS = {
    "train.learning_rate": "lr rate base_lr init_lr peak_lr max_lr learning_rate_init eta",
    "train.min_learning_rate": "min_lr end_lr final_lr eta_min",
    "train.batch_size": "bs batch batchsize train_batch_size per_device_train_batch_size minibatch_size micro_batch_size",
    "train.batch_tokens": "max_tokens tokens_per_batch max_tokens_per_batch",
    "train.accumulate": "gradient_accumulation_steps grad_accum grad_accum_steps accumulate_grad_batches update_freq",
    "train.steps": "step num_steps n_steps max_steps train_steps num_train_steps total_steps max_update max_updates "
    "max_iter max_iters iterations",
    "train.epochs": "epoch num_epochs n_epochs nb_epochs max_epochs max_epoch num_train_epochs",
    "train.optimizer": "optim opt solver",
    "train.schedule": "scheduler lr_scheduler lr_schedule lr_scheduler_type",
    "train.warmup": "warm_up warmup_steps num_warmup_steps warmup_updates warmup_iters",
    "train.beta1": "adam_beta1 b1",
    "train.beta2": "adam_beta2 b2",
    "train.weight_decay": "wd l2 l2_reg",
    "train.clip": "grad_clip clip_grad clip_norm clip_grad_norm max_grad_norm gradient_clip gradient_clip_val "
    "gradient_clipping grad_norm",
    "train.freeze": "frozen freeze_layers freeze_params freeze_parameters freeze_encoder freeze_embeddings",
    "train.layer_decay": "llrd layerwise_lr_decay layer_wise_lr_decay layerwise_learning_rate_decay lr_layer_decay",
    "train.valid_every": "eval_steps eval_every eval_interval eval_freq val_every val_check_interval validate_every "
    "validate_interval_updates",
    "train.save_every": "save_steps save_interval save_interval_updates checkpoint_every ckpt_every",
    "train.log_every": "logging_steps log_interval log_steps log_every_n_steps print_every print_freq",
    "train.tensorboard": "use_tensorboard tb",
    "train.patience": "early_stopping early_stop early_stopping_patience n_iter_no_change",
    "train.keep": "save_total_limit save_top_k keep_last keep_checkpoints max_to_keep",
    "train.average": "average_checkpoints avg_checkpoints swa",
    "train.seed": "random_state random_seed manual_seed rng_seed",
    "train.device": "accelerator cuda gpu use_cuda no_cuda use_cpu",
    "train.threads": "num_threads n_threads n_jobs num_cpus cpus",
    "train.precision": "fp16 bf16 amp use_amp half mixed_precision autocast dtype torch_dtype tf32",
    "train.compile": "torch_compile",
    "train.recompute": "gradient_checkpointing activation_checkpointing checkpoint_activations",
    "train.prefetch": "prefetch_factor pin_memory",
    "train.shard": "fsdp fully_sharded zero deepspeed",
    "train.tensor_parallel": "tp tp_size tensor_model_parallel_size",
    "model.embedding_size": "embed_dim emb_dim embedding_dim embed_size emb_size word_vec_size n_embd",
    "model.hidden_size": "hidden d_model hidden_dim hidden_units hid_dim model_dim dim units rnn_size n_embd embed_dim "
    "embedding_dim emb_size encoder_embed_dim width",
    "model.hidden_sizes": "hidden hidden_size hidden_dim hidden_layer_sizes",
    "model.intermediate_size": "ffn_dim d_ff ff_dim ffn_size ff_size dim_feedforward feed_forward_size n_inner mlp_dim "
    "encoder_ffn_dim encoder_ffn_embed_dim",
    "model.num_layers": "n_layers n_layer nlayers layers depth num_hidden_layers num_blocks",
    "model.encoder_layers": "num_layers num_encoder_layers enc_layers n_layers n_layer nlayers layers depth "
    "num_hidden_layers",
    "model.decoder_layers": "num_decoder_layers dec_layers",
    "model.num_heads": "n_heads n_head nhead heads attention_heads num_attention_heads encoder_attention_heads",
    "model.dropout": "dropout_rate dropout_prob drop drop_rate p_dropout hidden_dropout hidden_dropout_prob resid_pdrop",
    "model.attention_dropout": "attn_dropout attn_pdrop attention_probs_dropout_prob",
    "model.activation_dropout": "relu_dropout act_dropout",
    "model.activation": "act hidden_act activation_fn activation_function",
    "model.cell": "rnn rnn_type cell_type",
    "writer.label_smoothing": "smoothing label_smoothing_factor label_smooth",
    "writer.metric": "metrics monitor metric_for_best_model eval_metric best_checkpoint_metric",
    "writer.share_tokenizer": "shared share_vocab shared_vocab joint_vocab joined_dictionary",
    "writer.context_length": "block_size context context_size ctx_len n_ctx n_positions seq_len",
    "reader.max_length": "max_len maxlen max_seq_len max_seq_length seq_len max_source_length src_seq_length",
    "writer.max_length": "max_target_length tgt_seq_length",
    "reader.vectors": "glove word_vectors word2vec fasttext pretrained_embeddings",
    "search.max_length": "max_new_tokens max_gen_len max_decode_length",
    "search.beam": "beam_size beam_width num_beams beams",
    "search.n_best": "nbest num_return_sequences",
    "search.method": "do_sample decoding decoding_strategy",
    "search.length_penalty": "lenpen len_penalty",
    "search.temperature": "temp",
    "search.top_k": "topk",
    "search.top_p": "topp nucleus",
    "tokens.size": "vocab vocab_size vocabulary_size n_vocab bpe_size max_features",
    "tokens.kind": "tokenizer tokenizer_type tokenization",
    "tokens.min_count": "min_freq min_frequency min_df",
    "tokens.lower": "lowercase do_lower_case uncased",
    "data.train": "train_file train_data train_path training_data trainpref data",
    "data.valid": "dev val validation dev_file val_file valid_file validation_file eval_file validpref",
    "data.test": "test_file testpref",
    "data.name": "dataset dataset_name",
    "data.held_out": "validation_split val_split valid_split dev_split validation_fraction",
    "data.text": "source src src_lang source_lang text_column source_column text_field input_column",
    "data.label": "target tgt tgt_lang target_lang label_column target_column label_field class_column y",
}
# What there is nothing of here, and what to do instead.
_DEVICES = "several processes are started by --processes N, or by torchrun; each takes a device of its own"
_WORKERS = "batches are prepared on a thread (train.prefetch), without workers; leave it out"
_REPORTS = (
    "there is no reporting to other services; the log is log.jsonl of the run, and train.tensorboard=true writes events"
)
_EVENTS = "TensorBoard event files are written by train.tensorboard=true, into RUN/tensorboard"
_START = "a training begins with a trained model by start=RUN, such as start=runs/dates"
ABSENT = {
    **dict.fromkeys(("pretrained", "pretrained_model", "model_name_or_path", "pretrained_model_name_or_path"), _START),
    **dict.fromkeys(("init_checkpoint", "init_from", "finetune_from", "finetune_from_model", "restore_file"), _START),
    **dict.fromkeys(("gpus", "devices", "num_gpus", "n_gpu", "num_nodes", "world_size", "strategy", "ddp"), _DEVICES),
    **dict.fromkeys(("num_workers", "dataloader_num_workers", "workers"), _WORKERS),
    **dict.fromkeys(("wandb", "mlflow", "use_wandb", "wandb_project"), _REPORTS),
    **dict.fromkeys(("report_to", "logger", "loggers", "logging_dir", "log_dir", "tensorboard_dir"), _EVENTS),
    **dict.fromkeys(("betas", "adam_betas"), "there are two keys: train.beta1 and train.beta2"),
    **dict.fromkeys(("ema", "ema_decay"), "there is no moving average; train.average=N averages the last N checkpoints"),
    **dict.fromkeys(("out", "output_dir", "save_dir"), "the run's directory is an option: --out DIR, or out=DIR in Python"),
    "warmup_ratio": "warm-up is counted in steps: train.warmup=STEPS",
}

# What is on or off elsewhere, and the precision that it asks for.
PRECISIONS = {"fp16": "fp16", "half": "fp16", "bf16": "bf16"}


def plain(name: str) -> str:
    """A name as it is looked up: `--Learning-Rate` is learning_rate."""
    return name.strip().lstrip("-").lower().replace("-", "_")


def meant(name: str) -> list[str]:
    """The keys, such as train.learning_rate, that a name may stand for; among them those that are called so here."""
    name = plain(name)
    return [ours for ours, theirs in OTHERS.items() if name in (ours.partition(".")[2], *theirs.split())]


def valued(name: str, value: str) -> str:
    """What our key takes for the value that is typed for another name: fp16=true is train.precision=fp16."""
    on, off = value.lower() in ("true", "1", "yes"), value.lower() in ("false", "0", "no")
    if name not in OTHERS["train.precision"].split() or not (on or off):
        return value
    return PRECISIONS.get(name, "auto") if on else "float32"
