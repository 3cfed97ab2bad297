package import CoreDataStore
package import ModelTools
package import ObjectModel

extension ModelCache {
  /// Returns the bytes of `Z_MODELCACHE.Z_CONTENT` for a model.
  package static func content(of model: ManagedObjectModel) throws(Failure) -> [UInt8] {
    try deflate(model.archiveBytes())
  }

  /// Returns the bytes of `Z_MODELCACHE.Z_CONTENT` for a model, and the parts of the model that these bytes cannot
  /// express.
  package static func written(_ model: ManagedObjectModel) throws(Failure) -> WrittenModel {
    let archive = model.archive(form: .modelCache)
    return WrittenModel(bytes: try deflate(archive.bytes), losses: archive.losses)
  }
}
