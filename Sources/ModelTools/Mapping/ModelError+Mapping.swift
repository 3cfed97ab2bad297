public import ObjectModel

extension ModelError.Code {
  /// The file is not of a kind that can hold a mapping model.
  public static let notAMapping = ModelError.Code(rawValue: "model.notAMapping")
}
