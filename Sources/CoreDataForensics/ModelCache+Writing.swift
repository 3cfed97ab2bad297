public import CoreDataStore
public import ModelTools
public import ObjectModel

extension ModelCache {
  /// A model as a store caches it.
  public static func content(of model: ManagedObjectModel) throws(Failure) -> [UInt8] {
    try deflate(model.archiveBytes())
  }

  /// The same, with what the form cannot hold.
  public static func written(_ model: ManagedObjectModel) throws(Failure) -> WrittenModel {
    let archive = model.archive(form: .modelCache)
    return WrittenModel(bytes: try deflate(archive.bytes), losses: archive.losses)
  }
}
