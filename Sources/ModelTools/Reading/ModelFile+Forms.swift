package import ObjectModel

extension ModelFile {
  /// Reads a model from the bytes of a file, and reports the values that could not be read. The content decides in
  /// which form the bytes are read: the `contents` of an `.xcdatamodel`, a compiled model, or an archive of Xcode's
  /// editor.
  ///
  /// - Throws: ``ModelError``, for example if the bytes have none of these forms.
  package static func model(
    _ bytes: [UInt8], knowing known: inout KnownEntities
  ) throws(ModelError) -> (model: ManagedObjectModel, unread: [ModelProblem]) {
    if HardenedXML.looksLikeXML(bytes) {
      return try ManagedObjectModel.read(contentsXML: bytes, knowing: &known)
    }
    if OptimisedModel.isOptimised(bytes) { throw OptimisedModel.error }
    let archive = try KeyedArchive(
      bytes: bytes, orThrow: .notAModel,
      "This file is not a keyed archive, so it is not a compiled model.")
    guard EditorModelReader.isEditorArchive(archive) else {
      return (try ManagedObjectModel(archive), [])
    }
    let (model, unread) = try EditorModelReader.model(in: archive)
    let problems = unread.map { tag in
      ModelProblem(
        kind: .unreadValue, entityName: nil, propertyName: nil,
        sentence: "The setting \(tag) of Xcode's editor is not understood; it is ignored.")
    }
    return (model, problems)
  }
}
