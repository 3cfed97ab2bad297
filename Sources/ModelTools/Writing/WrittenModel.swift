import ObjectModel

/// A model in the form of bytes, with what that form cannot hold.
public struct WrittenModel: Sendable, Hashable {
  /// The bytes of the file.
  public let bytes: [UInt8]
  /// What was left out or changed; empty when reading back gives an equal model.
  public let losses: [ModelLoss]

  /// Bundles the two.
  public init(bytes: [UInt8], losses: [ModelLoss]) {
    self.bytes = bytes
    self.losses = losses
  }
}
