/// The two shapes in which Core Data archives a model.
public enum ModelArchiveForm: Sendable, Hashable {
  /// A compiled model, `.mom`: each entity has its own properties only.
  case compiled
  /// A store's cached model (`Z_MODELCACHE`) before deflation: each entity has copies of the
  /// inherited properties too.
  case modelCache
}

extension ManagedObjectModel {
  /// The model as a keyed archive, in the shape that Core Data itself writes.
  ///
  /// Reading it back gives an equal model with the same hashes, with these exceptions: predicates
  /// (of fetched properties, partial indexes and derivations) and fetch request templates are left
  /// out, as templates are in every real cache; a default value of a class this library does not
  /// decode is left out; references to entities that the model does not have are left out.
  public func archiveBytes(form: ModelArchiveForm = .modelCache) -> [UInt8] {
    var writer = ModelArchiveWriter(model: self, form: form)
    return writer.bytes()
  }
}
