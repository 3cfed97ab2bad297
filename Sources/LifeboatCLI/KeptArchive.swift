import Foundation
import SafeFiles
import SafeText
import StoreExtraction
import SupportBundle

/// The archive that a command has opened last in order to list its stores. The stores are then read without opening,
/// decrypting or unpacking it again. Only one archive is kept, because an unpacked archive takes space on the disk.
final class KeptArchive {
  /// What is kept of the archive that a path leads into.
  struct Opened {
    /// The path of the archive.
    let path: String
    let file: BundleFile
    /// The unpacked stores; nil for a support bundle, which is unpacked when it is read.
    let archive: UnpackedArchive?
    /// The name of the store in the archive; nil when the path is that of the archive.
    var name: String?
  }

  private var last: Opened?
  /// The paths of all archives that were kept at some time.
  private var listed: Set<ExactText> = []
  /// Makes sure that the private folders are removed when a signal ends the process.
  private(set) lazy var interruption = Interruption()

  /// Keeps an archive instead of the one that was kept before.
  func keep(_ path: String, _ file: BundleFile, _ archive: UnpackedArchive? = nil) {
    last = Opened(path: path, file: file, archive: archive)
    listed.insert(ExactText(path))
  }

  func hasListed(_ path: String) -> Bool { listed.contains(ExactText(path)) }

  /// Removes what is kept, so that no two unpacked archives take space on the disk.
  func drop() { last = nil }

  /// The kept archive, if a path is that of the archive or names a store in it that was unpacked.
  func opened(for path: String) -> Opened? {
    guard var opened = last else { return nil }
    if PathText.isSame(opened.path, path) { return opened }
    // A store that was not unpacked with the others may still be unpacked by its name.
    guard let archive = opened.archive,
      let name = PathText.dropping(prefix: opened.path + "/", from: path),
      FileStatus.found(
        PathText.joined(archive.folder.path, UnpackedArchive.escaped(name))) != nil
    else { return nil }
    opened.name = name
    return opened
  }
}
