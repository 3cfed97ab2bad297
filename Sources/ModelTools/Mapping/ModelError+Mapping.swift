public import ObjectModel

extension ModelError.Code {
  /// The file is of no kind that can hold a mapping model.
  public static let notAMapping = ModelError.Code(rawValue: "model.notAMapping")
}
