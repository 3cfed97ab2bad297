package import AgeFiles
import SafeText

extension BundleFile {
  /// Opens a bundle, which may be a file in an archive, as in `Mail.zip/Notes-support.zip`. The keys and the passphrase
  /// in `secrets` are tried on each file that is encrypted.
  ///
  /// - Throws: the errors of reading; `bundle.inputMissing` when the archive has no file of this name; an error with a
  ///   code that begins with `age.` when a file cannot be decrypted.
  package static func open(
    _ path: String, _ secrets: AgeSecrets = AgeSecrets()
  ) throws(BundleError) -> BundleFile {
    guard let (archive, name) = UnpackedArchive.split(path) else {
      return try BundleFile(path, secrets)
    }
    let outer = try BundleFile(archive, secrets)
    var left = UnpackedArchive.sizeLimit(of: outer.file)
    let found = try BundleError.catching(path) {
      try outer.inner(UnpackedArchive.escaped(name), left: &left)
    }
    guard let found else {
      throw BundleError(.inputMissing, "the archive has no such file", path: path)
    }
    return found
  }

  /// The names of the files in this archive that may be bundles, because the names end with `.zip` or `.age`. Nil if
  /// the archive is itself a bundle, which has a manifest, or if this file cannot be opened as an archive.
  package var innerBundleNames: [String]? {
    var left = UnpackedArchive.sizeLimit(of: file)
    guard let archive = try? openedArchive(left: &left) else { return nil }
    return Self.bundleNames(in: archive)
  }

  private static func bundleNames<Reader: ArchiveReader>(in archive: Reader) -> [String]? {
    var names: [String] = []
    for entry in archive.entries where !entry.isFolder && !entry.isLink {
      if PathText.isSame(entry.name, BundleManifest.entryName) { return nil }
      if PathText.ends(entry.name, with: ".zip") || PathText.ends(entry.name, with: ".age") {
        names.append(entry.name)
      }
    }
    return names
  }

  /// Opens this file as an archive: zip or tar, plain or gzipped. Returns nil for any other file. `left` is the number
  /// of bytes that may still be unpacked.
  private func openedArchive(left: inout UInt64) throws -> (any ArchiveReader)? {
    var input = file
    var lead = try UnpackedArchive.lead(of: input)
    if GunzippedFile.isGzip(lead) {
      input = try GunzippedFile.open(input, left: &left)
      lead = try UnpackedArchive.lead(of: input)
    }
    if TarReader.isTar(lead) { return try TarReader(input) }
    guard UnpackedArchive.isZip(lead: lead) else { return nil }
    return try ZipReader(input, escapesNames: true)
  }

  /// Opens the file `name` in this archive, or in an archive that is nested in this archive. Returns nil when the
  /// archive has no such file. `left` is the number of bytes that may still be unpacked.
  private func inner(_ name: String, left: inout UInt64) throws -> BundleFile? {
    guard let archive = try openedArchive(left: &left) else { return nil }
    return try inner(name, of: archive, left: &left)
  }

  private func inner<Reader: ArchiveReader>(
    _ name: String, of reader: Reader, left: inout UInt64
  ) throws -> BundleFile? {
    // This entry is either the wanted file, or a nested archive that contains the file.
    let entry = reader.entries.first { entry in
      !entry.isFolder && !entry.isLink
        && (PathText.isSame(entry.name, name) || PathText.starts(name, with: entry.name + "/"))
    }
    guard let entry else { return nil }
    let place = PathText.joined(path, entry.name)
    guard entry.size <= left else {
      throw BundleError(
        .tooLarge, "the file would unpack to \(entry.size) bytes, and the limit is \(left)",
        path: place)
    }
    left -= entry.size
    let output = try ExclusiveOutput(unnamed: "archive")
    try reader.unpack(entry) { try output.append($0) }
    let opened = try BundleFile(output.input(named: place), secrets)
    guard let rest = PathText.dropping(prefix: entry.name + "/", from: name) else { return opened }
    // `rest` is shorter than `name`, so the recursion ends.
    return try opened.inner(rest, left: &left)
  }
}
