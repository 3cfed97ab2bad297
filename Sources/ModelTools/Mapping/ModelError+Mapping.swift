public import ObjectModel

extension ModelError.Code {
  /// The file is not of a kind that holds a mapping model.
  public static let notAMapping = ModelError.Code(rawValue: "model.notAMapping")
}
