package import CoreDataStore
package import ModelTools
package import ObjectModel

extension ModelCache {
  /// Returns the bytes of `Z_MODELCACHE.Z_CONTENT` for a model, and the parts of the model that these bytes cannot
  /// express.
  package static func written(_ model: ManagedObjectModel) throws(Failure) -> WrittenModel {
    let archive = model.archive(form: .modelCache)
    return (try deflate(archive.bytes), archive.losses)
  }
}
