package import ObjectModel

/// The two forms in which Core Data archives a model.
package enum ModelArchiveForm: Sendable, Hashable, CaseIterable {
  /// A compiled model (`.mom`). Each entity contains only the properties that it declares.
  case compiled
  /// A store's cached model (`Z_MODELCACHE`) before deflation. Each entity also contains copies of its inherited
  /// properties.
  case modelCache
}

extension ManagedObjectModel {
  /// Returns the model as a keyed archive, in the form that Core Data itself writes, and the losses. Reading the bytes
  /// gives an equal model with the same hashes, apart from the losses. The losses are the parts that the archive cannot
  /// hold: traits that only an `.xcdatamodel` has, fetch request templates in a cache, and predicates that were not
  /// understood. A part that is written in a form seen in no real archive also counts as a loss.
  package func archive(form: ModelArchiveForm) -> WrittenModel {
    let reduction = ModelArchiveReduction(self, form: form)
    var writer = ModelArchiveWriter(model: reduction.model, form: form)
    return (writer.list().binaryBytes(), reduction.losses)
  }

  /// Makes the same archive and losses as ``archive(form:)``, and ensures that the archive is small enough to be read
  /// again.
  ///
  /// - Throws: ``ModelError`` with the code `model.tooLarge` if the archive has more values
  ///   (``PropertyList/maximumCount``) or bytes than can be read.
  package func readableArchive(form: ModelArchiveForm) throws(ModelError) -> WrittenModel {
    let reduction = ModelArchiveReduction(self, form: form)
    var writer = ModelArchiveWriter(model: reduction.model, form: form)
    let list = writer.list()
    func check(_ count: Int, _ most: Int, _ what: String) throws(ModelError) {
      guard count > most else { return }
      let name = form == .compiled ? "a compiled model" : "a cached model"
      throw ModelError(
        code: .tooLarge,
        message: "As \(name), this model would have \(count) \(what), more than the \(most) that "
          + "can be read again; nothing was written.")
    }
    try check(list.expandedCount, PropertyList.maximumCount, "values")
    let bytes = list.binaryBytes()
    try check(bytes.count, PropertyList.maximumByteCount, "bytes")
    return (bytes, reduction.losses)
  }

  /// Returns the model without the parts that the form of archive cannot hold. Reading an archive of this model gives
  /// the returned model.
  package func reduced(to form: ModelArchiveForm) -> ManagedObjectModel {
    ModelArchiveReduction(self, form: form).model
  }
}

extension PropertyList {
  /// The number of values in the property list, including the list itself and the keys of dictionaries. A value that
  /// several collections share counts once for each of them. ``PropertyList/maximumCount`` is the limit for this
  /// number.
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
