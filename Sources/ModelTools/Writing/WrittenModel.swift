import ObjectModel

/// A model as the bytes of a file, with what the file cannot hold.
package struct WrittenModel: Sendable, Hashable {
  /// The bytes of the file.
  package let bytes: [UInt8]
  /// What was left out or changed; empty when reading back gives an equal model.
  package let losses: [ModelLoss]

  /// Makes a written model.
  package init(bytes: [UInt8], losses: [ModelLoss]) {
    self.bytes = bytes
    self.losses = losses
  }
}
