package import ObjectModel

extension ModelFile {
  /// Reads a model from the bytes of a file, and reports the values that could not be read. The form is recognised by
  /// the content: the `contents` of an `.xcdatamodel`, a compiled model, or an archive of Xcode's editor.
  ///
  /// - Throws: ``ModelError``, also if the bytes have none of these forms.
  package static func model(
    _ bytes: [UInt8], knowing known: inout KnownEntities
  ) throws(ModelError) -> (model: ManagedObjectModel, unread: [ModelProblem]) {
    if HardenedXML.looksLikeXML(bytes) {
      return try ManagedObjectModel.read(contentsXML: bytes, knowing: &known)
    }
    if OptimisedModel.isOptimised(bytes) { throw OptimisedModel.error }
    let archive = try KeyedArchive(
      bytes: bytes, orThrow: .notAModel, "A compiled model is a keyed archive; this file is not.")
    return EditorModelReader.isEditorArchive(archive)
      ? (try EditorModelReader.model(in: archive).model, [])
      : (try ManagedObjectModel(archive), [])
  }
}
