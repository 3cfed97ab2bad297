extension Dictionary {
  /// Creates a dictionary from pairs of a key and a value. Of several pairs with equal keys, the first one is kept.
  package init(firstOf pairs: some Sequence<(Key, Value)>) {
    self.init(pairs, uniquingKeysWith: { first, _ in first })
  }
}
