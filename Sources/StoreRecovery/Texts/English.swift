extension NoticeWords {
  package static let english = NoticeWords(
    unnamedApp: ("the app", "The app"), quotes: ("", ""), date: date,
    kept: [
      .otherVersion: kept(
        "On {date}, {app} could not open your data, because it was saved by a different version of the app.",
        "An update of the app may be able to open your earlier data again."),
      .newerVersion: kept(
        "On {date}, {app} could not open your data, because it was saved by a newer version of the app.",
        "Please update the app to the latest version, which may be able to open your earlier data again."
      ),
      .damaged: kept(
        "On {date}, {app} could not open your data, because the file that holds it is damaged.",
        "It is often possible to recover at least part of the data."),
      .encrypted: kept(
        "On {date}, {app} could not open your data. It appears to be encrypted, and the right key was not available. This is not a sign of damage.",
        "Once the right key is available, it should be possible to open the data again."),
      .unreadable: kept(
        "On {date}, {app} could not open your data, because the file that should hold it contains something the app cannot read.",
        "The app’s support can help you find out what happened."),
      .technical: kept(
        "On {date}, {app} could not open your data because of a technical problem.",
        "An update of the app may be able to open your earlier data again."),
      .replaced: Incident.Notice(
        title: "Your earlier data is back",
        whatHappened:
          "On {date}, your earlier data was brought back. The data that was in use until then was set aside.",
        whatWasKept:
          "Nothing was deleted. The data that was in use until then is still in the app’s storage, unchanged and kept separately.",
        whatToDo:
          "You do not need to do anything. If you miss something from that data, contact the app’s support and give this reference: {reference}."
      ),
      .newestMissing: Incident.Notice(
        title: "Some of your newest changes may be missing",
        whatHappened:
          "On {date}, {app} found that a file with your newest changes was damaged. It carried on with the rest of your data.",
        whatWasKept:
          "Nothing was deleted. A copy of the file with your newest changes, as it was found, is in the app’s storage.",
        whatToDo:
          "Please check whether something is missing. If so, contact the app’s support and give this reference: {reference}. It is often possible to recover the missing part."
      ),
      .restored: Incident.Notice(
        title: "Your earlier data is back",
        whatHappened:
          "On {date}, {app} could not open your data and set it aside. It has since been brought back.",
        whatWasKept: "Nothing was deleted. Your earlier data is in use again.",
        whatToDo: "You do not need to do anything."),
      .putBack: Incident.Notice(
        title: "Your data is in its place, unchanged",
        whatHappened:
          "On {date}, {app} could not open your data. Starting with new, empty data did not work either, so your data was put back in its place.",
        whatWasKept: "Nothing was deleted. Your data is as it was before.",
        whatToDo: "\(checkSpace) \(contact)"),
    ],
    failed: [
      .otherVersion: FailureNotice(
        title: "Your data was saved by a different version",
        whatHappened:
          "{App} could not open your data, because it was saved by a different version of the app. \(untouched)",
        whatToDo: "Please check whether an update of the app is available. \(contact) \(keepApp)"),
      .newerVersion: FailureNotice(
        title: "Please update {app}",
        whatHappened:
          "Your data was saved by a newer version of the app, and this version cannot read it. \(untouched)",
        whatToDo:
          "Please update the app to the latest version and open it again. If no update is offered, check for an update of your device’s system as well. \(keepApp)"
      ),
      .damaged: FailureNotice(
        title: "Your data could not be opened",
        whatHappened:
          "The file that holds your data seems to be damaged or incomplete. {App} left everything as it is. \(untouched)",
        whatToDo:
          "It is often possible to recover at least part of the data. Please contact the app’s support before you try anything else. \(keepApp)"
      ),
      .encrypted: FailureNotice(
        title: "Your data could not be unlocked",
        whatHappened:
          "Your data appears to be encrypted, and {app} did not have the right key. This is not a sign of damage. \(untouched)",
        whatToDo:
          "If you use a password for this data, please check it and try again. \(contact) \(keepApp)"
      ),
      .unreadable: FailureNotice(
        title: "Your data could not be opened",
        whatHappened:
          "The file that should hold your data contains something {app} cannot read. \(untouched)",
        whatToDo: "Please contact the app’s support. \(keepApp)"),
      .otherApp: FailureNotice(
        title: "Another app’s data is stored here",
        whatHappened:
          "The place where {app} keeps your data seems to hold the data of another app. {App} left everything as it is. \(untouched)",
        whatToDo:
          "Please do not delete or move that data, because the other app may still need it. Contact the app’s support."
      ),
      .technical: FailureNotice(
        title: "Your data could not be opened",
        whatHappened: "A technical problem kept {app} from opening your data. \(untouched)",
        whatToDo: "\(reopen) \(contact) \(keepApp)"),
      .inUse: FailureNotice(
        title: "Your data is in use",
        whatHappened:
          "Another program, or another part of {app}, is using your data right now. \(untouched)",
        whatToDo:
          "Please wait a moment and try again. If that does not help, restart your device."),
      .deviceLocked: FailureNotice(
        title: "Your data is still locked",
        whatHappened:
          "Your device protects your data while it is locked, so {app} cannot open it yet. \(untouched)",
        whatToDo: "Please unlock your device, then open {app} again."),
      .diskFull: FailureNotice(
        title: "There is not enough free space",
        whatHappened:
          "{App} cannot open your data, because there is too little free space left. \(untouched)",
        whatToDo: "Please free up some space, then open {app} again. \(keepApp)"),
      .noAccess: FailureNotice(
        title: "Your data cannot be reached",
        whatHappened:
          "{App} has no access to the place where your data is stored. \(untouched)",
        whatToDo:
          "If your data is on an external drive or a network folder, please check that it is connected. Then open {app} again. \(contact)"
      ),
      .storageFault: FailureNotice(
        title: "The storage could not be read",
        whatHappened:
          "Your device had trouble reading or writing its storage. This does not mean that your data is damaged. {App} left everything as it is.",
        whatToDo:
          "Please restart your device, then open {app} again. If it happens again, make a backup of your device and contact the app’s support."
      ),
      .momentary: FailureNotice(
        title: "Please try again",
        whatHappened:
          "{App} could not open your data just now. This usually passes quickly. \(untouched)",
        whatToDo: "Please wait a moment and open {app} again. \(contact)"),
      .newestMissing: FailureNotice(
        title: "Some of your newest changes may be missing",
        whatHappened:
          "When {app} opened your data, a file with your newest changes was no longer complete. {App} carried on with the rest of your data.",
        whatToDo: "Please check whether something is missing. If so, contact the app’s support."),
      .keepsFailing: FailureNotice(
        title: "Your data still could not be opened",
        whatHappened:
          "{App} could not open your data. The same has happened several times before, so {app} left everything as it is this time. \(untouched)",
        whatToDo:
          "If {app} lets you carry on, new entries may not be saved. Please restart your device, and check whether an update of the app is available. \(contact) \(keepApp)"
      ),
      .inBackground: FailureNotice(
        title: "Please open {app}",
        whatHappened:
          "Your data could not be opened in the background. \(untouched)",
        whatToDo: "Open {app} to continue."),
      .putBack: FailureNotice(
        title: "Your data is in its place, unchanged",
        whatHappened:
          "{App} could not open your data. Starting with new, empty data did not work either, so your data was put back in its place. Nothing was deleted.",
        whatToDo: "\(checkSpace) \(contact)"),
    ],
    besideNote: "The kept data is in the folder “store” next to this note.",
    inFolder: "The kept data is in this folder:\n{folder}")

  private static func kept(_ cause: String, _ hope: String) -> Incident.Notice {
    Incident.Notice(
      title: "Your earlier data was kept, but could not be opened",
      whatHappened:
        "\(cause) {App} then started with new, empty data, so that you can carry on.",
      whatWasKept:
        "Nothing was deleted. Your earlier data is still in the app’s storage, unchanged and separate from the new data.",
      whatToDo:
        "\(hope) Please do not delete the app, as this could delete the kept data too. If you need help, contact the app’s support and give this reference: {reference}."
    )
  }

  private static let untouched = "Nothing was changed or deleted."
  private static let keepApp =
    "Please do not delete the app, as this could delete your data too."
  private static let contact = "If that does not help, contact the app’s support."
  private static let reopen = "Please close {app} and open it again."
  private static let checkSpace =
    "Please make sure that there is enough free space, then open {app} again."

  /// Formats a time as `20 November 2026 at 21:53`; in the United States as `November 20, 2026 at 9:53 PM`.
  private static func date(_ time: Time) -> String {
    let months = [
      "January", "February", "March", "April", "May", "June", "July", "August", "September",
      "October", "November", "December",
    ]
    let month = months[time.month - 1]
    guard time.region == "US" else {
      return "\(time.day) \(month) \(time.year) at \(time.paddedHour):\(time.paddedMinute)"
    }
    let hour = time.hour % 12 == 0 ? 12 : time.hour % 12
    let half = time.hour < 12 ? "AM" : "PM"
    return "\(month) \(time.day), \(time.year) at \(hour):\(time.paddedMinute) \(half)"
  }
}
