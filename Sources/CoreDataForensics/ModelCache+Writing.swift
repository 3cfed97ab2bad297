package import CoreDataStore
package import ModelTools
package import ObjectModel

extension ModelCache {
  /// The content of the cache for a model.
  package static func content(of model: ManagedObjectModel) throws(Failure) -> [UInt8] {
    try deflate(model.archiveBytes())
  }

  /// The content of the cache for a model, and what this form of the model cannot hold.
  package static func written(_ model: ManagedObjectModel) throws(Failure) -> WrittenModel {
    let archive = model.archive(form: .modelCache)
    return WrittenModel(bytes: try deflate(archive.bytes), losses: archive.losses)
  }
}
