package import SQLiteFile

extension Finding.ID {
  /// A page does not match the authentication code that SQLCipher gave it.
  package static let pageNotAuthentic = Self(rawValue: "page.notAuthentic")
  /// The file ends within a page. The incomplete page cannot be decrypted.
  package static let pageCut = Self(rawValue: "page.cut")
}
