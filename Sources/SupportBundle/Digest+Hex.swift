internal import Crypto
internal import ObjectModel

extension Digest {
  /// The digest as lower-case hexadecimal text.
  var hex: String { Hex.string(self) }
}

extension Hex {
  /// Whether a text consists of `count` lower-case hexadecimal digits.
  static func isLowercase(_ text: some Collection<UInt8>, count: Int) -> Bool {
    text.count == count
      && text.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }
}
