package import ObjectModel

/// The two forms in which Core Data archives a model.
package enum ModelArchiveForm: Sendable, Hashable, CaseIterable {
  /// A compiled model (`.mom`). Each entity has only its own properties.
  case compiled
  /// A store's cached model (`Z_MODELCACHE`) before deflation. Each entity has copies of the inherited properties too.
  case modelCache
}

extension ManagedObjectModel {
  /// The model as a keyed archive, in the form that Core Data itself writes.
  ///
  /// Reading the bytes gives an equal model with the same hashes, apart from the losses of ``archive(form:)``.
  package func archiveBytes(form: ModelArchiveForm = .modelCache) -> [UInt8] {
    archive(form: form).bytes
  }

  /// The model as a keyed archive, and what the archive cannot hold: traits that only an `.xcdatamodel` has, fetch
  /// request templates in a cache, and predicates that were not understood. Parts in a form that no real archive
  /// confirms are listed as losses too.
  package func archive(form: ModelArchiveForm) -> (bytes: [UInt8], losses: [ModelLoss]) {
    let reduction = ModelArchiveReduction(self, form: form)
    var writer = ModelArchiveWriter(model: reduction.model, form: form)
    return (writer.list().binaryBytes(), reduction.losses)
  }

  /// The model as a keyed archive with its losses, like ``archive(form:)``, for a file that is to be read again.
  ///
  /// - Throws: ``ModelError`` with the code `model.tooLarge` if the archive has more values
  ///   (``PropertyList/maximumCount``) or bytes than can be read.
  package func readableArchive(
    form: ModelArchiveForm
  ) throws(ModelError) -> (bytes: [UInt8], losses: [ModelLoss]) {
    let reduction = ModelArchiveReduction(self, form: form)
    var writer = ModelArchiveWriter(model: reduction.model, form: form)
    let list = writer.list()
    let name = form == .compiled ? "a compiled model" : "a cached model"
    let count = list.expandedCount
    guard count <= PropertyList.maximumCount else {
      throw ModelError(
        code: .tooLarge,
        message: "As \(name), this model would have \(count) values, more than the "
          + "\(PropertyList.maximumCount) that can be read again; nothing was written.")
    }
    let bytes = list.binaryBytes()
    guard bytes.count <= PropertyList.maximumByteCount else {
      throw ModelError(
        code: .tooLarge,
        message: "As \(name), this model would have \(bytes.count) bytes, more than the "
          + "\(PropertyList.maximumByteCount) that can be read again; nothing was written.")
    }
    return (bytes, reduction.losses)
  }

  /// The model as it is read back from an archive of a form, without what the form cannot hold.
  package func reduced(to form: ModelArchiveForm) -> ManagedObjectModel {
    ModelArchiveReduction(self, form: form).model
  }
}

extension PropertyList {
  /// The number of values as ``PropertyList/maximumCount`` counts them: this value, and all keys and values in it. A
  /// shared value counts each time it occurs.
  var expandedCount: Int {
    var count = 0
    var pending = [self]
    while let value = pending.popLast() {
      count += 1
      switch value {
      case .array(let values), .set(let values): pending += values
      case .dictionary(let entries):
        count += entries.count
        pending += entries.values
      default: break
      }
    }
    return count
  }
}
