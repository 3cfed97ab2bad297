import AgeFiles
import Foundation
import Quoting
import SafeText
import SupportBundle

/// The command of another program that lists what an archive holds.
enum ArchiveListing {
  /// Returns a hint with the command for the archive at `path`. Nil if the archive is encrypted or cannot be read.
  static func hint(_ path: String) -> String? {
    guard let lead = try? BundleFile.lead(of: path), !AgeFile.isEncrypted(lead) else { return nil }
    let command = UnpackedArchive.isZip(lead: lead) ? zipCommand : "tar -tf"
    return "to see what the archive holds, run: \(command) \(ShellText.path(path))"
  }

  /// The command for zip archives of the first program that this system has. Only some versions of tar read zip.
  private static var zipCommand: String {
    let commands = [
      ("unzip", "unzip -l"), ("bsdtar", "bsdtar -tf"), ("python3", "python3 -m zipfile -l"),
    ]
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").utf8
      .split(separator: UInt8(ascii: ":")).map { String(decoding: $0, as: UTF8.self) }
    let found = commands.first { name, _ in
      folders.contains {
        FileManager.default.isExecutableFile(atPath: PathText.joined($0, name))
      }
    }
    return (found ?? commands[0]).1
  }
}
