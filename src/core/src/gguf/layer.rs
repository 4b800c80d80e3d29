//! Sizes of one layer.

/// One layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Layer {
  /// Query heads; zero where the layer does not attend.
  pub(crate) heads: u64,
  /// Key-value heads.
  pub(crate) kv_heads: u64,
  /// Width of the feed-forward network; zero in expert-only layers.
  pub(crate) feed_forward: u64,
  /// Elements of one key head.
  pub(crate) key_length: u64,
  /// Elements of one value head; zero when values are part of the keys (multi-head latent attention).
  pub(crate) value_length: u64,
  /// Elements per token of a second cache of keys, used to choose what to attend to.
  pub(crate) indexer_length: u64,
  /// Tokens this layer looks back, when it has a sliding window.
  pub(crate) window: Option<u64>,
  /// Whether the layer stores keys and values of its own.
  pub(crate) owns_cache: bool,
  /// Whether the layer keeps a recurrent state.
  pub(crate) recurrent: bool,
}
