import Foundation
import SafeFiles
import SafeText
import StoreExtraction
import SupportBundle

/// Keeps the archive whose stores a command has listed last, so that the archive is not opened, decrypted and unpacked
/// again for each store. Only one archive is kept, because an unpacked archive takes space on the disk.
final class KeptArchive {
  /// A kept archive. If a path names a single store in the archive, ``name`` is the name of this store.
  struct Opened {
    /// The path of the archive.
    let path: String
    let file: BundleFile
    /// The unpacked stores; nil for a support bundle, which is unpacked when it is read.
    let archive: UnpackedArchive?
    /// The name, within the archive, of the store that the path names; nil if the path is that of the archive itself.
    var name: String?
  }

  private var last: Opened?
  /// The paths of all archives that this object has kept so far, including those that it keeps no longer.
  private var listed: Set<ExactText> = []
  /// Makes sure that the private folders are removed when a signal ends the process.
  private(set) lazy var interruption = Interruption()

  /// Keeps the archive that was opened from `path`, in place of the archive that was kept before.
  func keep(_ path: String, _ file: BundleFile, _ archive: UnpackedArchive? = nil) {
    last = Opened(path: path, file: file, archive: archive)
    listed.insert(ExactText(path))
  }

  func hasListed(_ path: String) -> Bool { listed.contains(ExactText(path)) }

  /// Removes the kept archive. Call this before another archive is unpacked, so that only one takes space on the disk.
  func drop() { last = nil }

  /// Returns the kept archive if `path` is the path of the archive, or names an unpacked store in the archive. Returns
  /// nil for any other path.
  func opened(for path: String) -> Opened? {
    guard var opened = last else { return nil }
    if PathText.isSame(opened.path, path) { return opened }
    // If the named store was not unpacked with the others, nil is returned, so that the caller unpacks it by its name.
    guard let archive = opened.archive,
      let name = PathText.dropping(prefix: opened.path + "/", from: path),
      FileStatus.found(
        PathText.joined(archive.folder.path, UnpackedArchive.escaped(name))) != nil
    else { return nil }
    opened.name = name
    return opened
  }
}
