import ObjectModel

/// A model as the bytes of a file, and the parts of the model that the file cannot hold.
package struct WrittenModel: Sendable, Hashable {
  package let bytes: [UInt8]
  /// The parts of the model that were left out or changed; empty if reading the bytes gives an equal model.
  package let losses: [ModelLoss]

  package init(bytes: [UInt8], losses: [ModelLoss]) {
    self.bytes = bytes
    self.losses = losses
  }
}
