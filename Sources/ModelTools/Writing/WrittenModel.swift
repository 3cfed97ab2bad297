import ObjectModel

/// A model in the form of bytes, with what that form cannot hold.
package struct WrittenModel: Sendable, Hashable {
  /// The bytes of the file.
  package let bytes: [UInt8]
  /// What was left out or changed; empty when reading back gives an equal model.
  package let losses: [ModelLoss]

  /// Bundles the two.
  package init(bytes: [UInt8], losses: [ModelLoss]) {
    self.bytes = bytes
    self.losses = losses
  }
}
