import SafeText

/// Makes a string from a file or a command line safe to print within a message: the string is put in quotes, escaped
/// and shortened.
enum Quoted {
  static func text(_ text: String, limit: Int = 120) -> String {
    var result = "\""
    for (index, scalar) in text.unicodeScalars.enumerated() {
      if index == limit { return result + "…\"" }
      result += scalar.escaped(asASCII: VisibleText.isHidden(scalar))
      if result.unicodeScalars.count > 8 * limit { return result + "…\"" }
    }
    return result + "\""
  }

  /// Returns the name of an entry as a string for `BundleError.entry`. The bytes need not be valid UTF-8.
  static func name(_ bytes: some Collection<UInt8>) -> String {
    String(decoding: bytes.prefix(ZipNames.maxBytes), as: UTF8.self)
  }

  static func bytes(_ bytes: some Collection<UInt8>) -> String {
    text(String(decoding: bytes.prefix(512), as: UTF8.self))
  }
}
