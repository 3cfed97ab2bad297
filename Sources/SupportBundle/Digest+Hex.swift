internal import Crypto
internal import Foundation

extension Digest {
  /// The digest as lower-case hexadecimal text.
  var hex: String {
    var text = ""
    for byte in self {
      text += byte < 16 ? "0" : ""
      text += String(byte, radix: 16)
    }
    return text
  }
}
