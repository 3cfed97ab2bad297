extension NoticeWords {
  /// The words of the notices in German, with the formal address.
  static let german = NoticeWords(
    unnamedApp: ("die App", "Die App"), quotes: ("„", "“"), date: date,
    kept: [
      .otherVersion: kept(
        "Am {date} konnte {app} Ihre Daten nicht öffnen, weil sie mit einer anderen Version der App gespeichert wurden.",
        "Möglicherweise lassen sich Ihre bisherigen Daten nach einem Update der App wieder öffnen."),
      .newerVersion: kept(
        "Am {date} konnte {app} Ihre Daten nicht öffnen, weil sie mit einer neueren Version der App gespeichert wurden.",
        "Bitte aktualisieren Sie die App auf die neueste Version. Möglicherweise lassen sich Ihre bisherigen Daten danach wieder öffnen."
      ),
      .damaged: kept(
        "Am {date} konnte {app} Ihre Daten nicht öffnen, weil die Datei, in der sie gespeichert sind, beschädigt ist.",
        "Oft lässt sich zumindest ein Teil solcher Daten wiederherstellen."),
      .encrypted: kept(
        "Am {date} konnte {app} Ihre Daten nicht öffnen. Sie sind anscheinend verschlüsselt, und der richtige Schlüssel war nicht verfügbar. Das ist kein Anzeichen für einen Schaden.",
        "Sobald der richtige Schlüssel vorliegt, sollten sich die Daten wieder öffnen lassen."),
      .unreadable: kept(
        "Am {date} konnte {app} Ihre Daten nicht öffnen, weil die Datei, in der sie gespeichert sein sollten, etwas enthält, was die App nicht lesen kann.",
        "Der Support der App kann Ihnen helfen, die Ursache zu finden."),
      .technical: kept(
        "Am {date} konnte {app} Ihre Daten wegen eines technischen Problems nicht öffnen.",
        "Möglicherweise lassen sich Ihre bisherigen Daten nach einem Update der App wieder öffnen."),
      .replaced: Incident.Notice(
        title: "Ihre früheren Daten sind wieder da",
        whatHappened:
          "Am {date} wurden Ihre früheren Daten zurückgeholt. Die bis dahin verwendeten Daten wurden beiseitegelegt.",
        whatWasKept:
          "Es wurde nichts gelöscht. Die bis dahin verwendeten Daten befinden sich weiterhin im Speicher der App, unverändert und getrennt aufbewahrt.",
        whatToDo:
          "Sie müssen nichts tun. Falls Ihnen etwas aus diesen Daten fehlt, wenden Sie sich an den Support der App und nennen Sie diese Kennung: {reference}."
      ),
      .newestMissing: Incident.Notice(
        title: "Ihre neuesten Änderungen fehlen möglicherweise",
        whatHappened:
          "Am {date} hat {app} festgestellt, dass eine Datei mit Ihren neuesten Änderungen beschädigt ist, und die übrigen Daten weiterverwendet.",
        whatWasKept:
          "Es wurde nichts gelöscht. Eine Kopie der Datei mit Ihren neuesten Änderungen, so wie sie vorgefunden wurde, befindet sich im Speicher der App.",
        whatToDo:
          "Bitte prüfen Sie, ob etwas fehlt. Falls ja, wenden Sie sich an den Support der App und nennen Sie diese Kennung: {reference}. Der fehlende Teil lässt sich oft wiederherstellen."
      ),
      .restored: Incident.Notice(
        title: "Ihre früheren Daten sind wieder da",
        whatHappened:
          "Am {date} konnte {app} Ihre Daten nicht öffnen und hat sie beiseitegelegt. Inzwischen wurden sie zurückgeholt.",
        whatWasKept: "Es wurde nichts gelöscht. Ihre früheren Daten werden wieder verwendet.",
        whatToDo: "Sie müssen nichts tun."),
      .putBack: Incident.Notice(
        title: "Ihre Daten sind unverändert an ihrem Platz",
        whatHappened:
          "Am {date} konnte {app} Ihre Daten nicht öffnen. Auch ein Start mit neuen, leeren Daten war nicht möglich. Deshalb wurden Ihre Daten an ihren Platz zurückgelegt.",
        whatWasKept: "Es wurde nichts gelöscht. Ihre Daten sind so, wie sie vorher waren.",
        whatToDo: "\(checkSpace) \(contact)"),
    ],
    failed: [
      .otherVersion: FailureNotice(
        title: "Ihre Daten stammen aus einer anderen Version",
        whatHappened:
          "{App} konnte Ihre Daten nicht öffnen, weil sie mit einer anderen Version der App gespeichert wurden. \(untouched)",
        whatToDo: "Bitte prüfen Sie, ob ein Update der App verfügbar ist. \(contact) \(keepApp)"),
      .newerVersion: FailureNotice(
        title: "Bitte aktualisieren Sie {app}",
        whatHappened:
          "Ihre Daten wurden mit einer neueren Version der App gespeichert und können mit dieser Version nicht gelesen werden. \(untouched)",
        whatToDo:
          "Bitte aktualisieren Sie die App auf die neueste Version und öffnen Sie sie erneut. Falls kein Update angeboten wird, prüfen Sie auch, ob es eines für das System Ihres Geräts gibt. \(keepApp)"
      ),
      .damaged: FailureNotice(
        title: "Ihre Daten konnten nicht geöffnet werden",
        whatHappened:
          "Die Datei, in der Ihre Daten gespeichert sind, ist anscheinend beschädigt oder unvollständig. {App} hat alles so gelassen, wie es ist. \(untouched)",
        whatToDo:
          "Oft lässt sich zumindest ein Teil solcher Daten wiederherstellen. Bitte wenden Sie sich an den Support der App, bevor Sie etwas anderes versuchen. \(keepApp)"
      ),
      .encrypted: FailureNotice(
        title: "Ihre Daten konnten nicht entschlüsselt werden",
        whatHappened:
          "Ihre Daten sind anscheinend verschlüsselt, und {app} hatte nicht den richtigen Schlüssel. Das ist kein Anzeichen für einen Schaden. \(untouched)",
        whatToDo:
          "Falls Sie für diese Daten ein Passwort verwenden, prüfen Sie es bitte und versuchen Sie es erneut. \(contact) \(keepApp)"
      ),
      .unreadable: FailureNotice(
        title: "Ihre Daten konnten nicht geöffnet werden",
        whatHappened:
          "Die Datei, in der Ihre Daten gespeichert sein sollten, enthält etwas, was {app} nicht lesen kann. \(untouched)",
        whatToDo: "Bitte wenden Sie sich an den Support der App. \(keepApp)"),
      .otherApp: FailureNotice(
        title: "Hier liegen Daten einer anderen App",
        whatHappened:
          "Dort, wo {app} Ihre Daten speichert, liegen anscheinend Daten einer anderen App. {App} hat alles so gelassen, wie es ist. \(untouched)",
        whatToDo:
          "Bitte löschen oder verschieben Sie diese Daten nicht, denn die andere App braucht sie möglicherweise noch. Wenden Sie sich an den Support der App."
      ),
      .technical: FailureNotice(
        title: "Ihre Daten konnten nicht geöffnet werden",
        whatHappened:
          "{App} konnte Ihre Daten wegen eines technischen Problems nicht öffnen. \(untouched)",
        whatToDo: "\(reopen) \(contact) \(keepApp)"),
      .inUse: FailureNotice(
        title: "Ihre Daten werden gerade verwendet",
        whatHappened:
          "Ein anderes Programm oder ein anderer Teil der App verwendet Ihre Daten gerade. Deshalb konnte {app} sie nicht öffnen. \(untouched)",
        whatToDo:
          "Bitte warten Sie einen Moment und versuchen Sie es erneut. Falls das nicht hilft, starten Sie Ihr Gerät neu."
      ),
      .deviceLocked: FailureNotice(
        title: "Ihre Daten sind noch gesperrt",
        whatHappened:
          "Ihr Gerät schützt Ihre Daten, solange es gesperrt ist. Deshalb kann {app} sie noch nicht öffnen. \(untouched)",
        whatToDo: "Bitte entsperren Sie Ihr Gerät und öffnen Sie {app} danach erneut."),
      .diskFull: FailureNotice(
        title: "Es ist nicht genug Speicherplatz frei",
        whatHappened:
          "{App} kann Ihre Daten nicht öffnen, weil zu wenig Speicherplatz frei ist. \(untouched)",
        whatToDo:
          "Bitte geben Sie Speicherplatz frei und öffnen Sie {app} danach erneut. \(keepApp)"),
      .noAccess: FailureNotice(
        title: "Ihre Daten sind nicht erreichbar",
        whatHappened:
          "{App} hat keinen Zugriff auf den Ort, an dem Ihre Daten gespeichert sind. \(untouched)",
        whatToDo:
          "Falls Ihre Daten auf einem externen Laufwerk oder in einem Netzwerkordner liegen, prüfen Sie bitte, ob die Verbindung besteht. Öffnen Sie {app} danach erneut. \(contact)"
      ),
      .storageFault: FailureNotice(
        title: "Der Speicher konnte nicht gelesen werden",
        whatHappened:
          "Ihr Gerät hatte Schwierigkeiten, auf seinen Speicher zuzugreifen. Das bedeutet nicht, dass Ihre Daten beschädigt sind. {App} hat alles so gelassen, wie es ist.",
        whatToDo:
          "Bitte starten Sie Ihr Gerät neu und öffnen Sie {app} danach erneut. Falls das Problem wieder auftritt, sichern Sie Ihr Gerät und wenden Sie sich an den Support der App."
      ),
      .momentary: FailureNotice(
        title: "Bitte versuchen Sie es erneut",
        whatHappened:
          "{App} konnte Ihre Daten gerade nicht öffnen. Meist ist das nur vorübergehend. \(untouched)",
        whatToDo: "Bitte warten Sie einen Moment und öffnen Sie {app} erneut. \(contact)"),
      .newestMissing: FailureNotice(
        title: "Ihre neuesten Änderungen fehlen möglicherweise",
        whatHappened:
          "Als {app} Ihre Daten geöffnet hat, war eine Datei mit Ihren neuesten Änderungen nicht mehr vollständig. {App} verwendet die übrigen Daten weiter.",
        whatToDo:
          "Bitte prüfen Sie, ob etwas fehlt. Falls ja, wenden Sie sich an den Support der App."),
      .keepsFailing: FailureNotice(
        title: "Ihre Daten konnten erneut nicht geöffnet werden",
        whatHappened:
          "{App} konnte Ihre Daten nicht öffnen. Das ist schon mehrmals geschehen. Deshalb blieb diesmal alles, wie es ist. \(untouched)",
        whatToDo:
          "Falls Sie mit {app} weiterarbeiten können, werden neue Eingaben möglicherweise nicht gespeichert. Bitte starten Sie Ihr Gerät neu und prüfen Sie, ob ein Update der App verfügbar ist. \(contact) \(keepApp)"
      ),
      .inBackground: FailureNotice(
        title: "Bitte öffnen Sie {app}",
        whatHappened: "Ihre Daten konnten im Hintergrund nicht geöffnet werden. \(untouched)",
        whatToDo: "Öffnen Sie {app}, um fortzufahren."),
      .putBack: FailureNotice(
        title: "Ihre Daten sind unverändert an ihrem Platz",
        whatHappened:
          "{App} konnte Ihre Daten nicht öffnen. Auch ein Start mit neuen, leeren Daten war nicht möglich. Deshalb wurden Ihre Daten an ihren Platz zurückgelegt. Es wurde nichts gelöscht.",
        whatToDo: "\(checkSpace) \(contact)"),
    ],
    besideNote: "Die aufbewahrten Daten liegen im Ordner „store“ neben dieser Notiz.",
    inFolder: "Die aufbewahrten Daten liegen in diesem Ordner:\n{folder}")

  private static func kept(_ cause: String, _ hope: String) -> Incident.Notice {
    Incident.Notice(
      title: "Ihre bisherigen Daten sind noch da, konnten aber nicht geöffnet werden",
      whatHappened:
        "\(cause) Damit Sie weitermachen können, wurde danach mit neuen, leeren Daten begonnen.",
      whatWasKept:
        "Es wurde nichts gelöscht. Ihre bisherigen Daten befinden sich weiterhin im Speicher der App, unverändert und getrennt von den neuen Daten.",
      whatToDo:
        "\(hope) Bitte löschen Sie die App nicht, denn dabei könnten auch die aufbewahrten Daten gelöscht werden. Wenn Sie Hilfe brauchen, wenden Sie sich an den Support der App und nennen Sie diese Kennung: {reference}."
    )
  }

  private static let untouched = "Es wurde nichts verändert oder gelöscht."
  private static let keepApp =
    "Bitte löschen Sie die App nicht, denn dabei könnten auch Ihre Daten gelöscht werden."
  private static let contact = "Falls das nicht hilft, wenden Sie sich an den Support der App."
  private static let reopen = "Bitte beenden Sie {app} und versuchen Sie es erneut."
  private static let checkSpace =
    "Bitte stellen Sie sicher, dass genug Speicherplatz frei ist, und öffnen Sie {app} danach erneut."

  /// Formats a time as `20. November 2026 um 21:53 Uhr`.
  private static func date(_ time: Time) -> String {
    let months = [
      "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September",
      "Oktober", "November", "Dezember",
    ]
    let hour = "\(time.paddedHour):\(time.paddedMinute)"
    return "\(time.day). \(months[time.month - 1]) \(time.year) um \(hour) Uhr"
  }
}
