extension NoticeWords {
  /// The words of the notices in Norwegian (Bokmål).
  static let norwegian = NoticeWords(
    unnamedApp: ("appen", "Appen"), quotes: ("«", "»"), date: date,
    kept: [
      .otherVersion: kept(
        "{date} kunne {app} ikke åpne dataene dine fordi de ble lagret med en annen versjon av appen.",
        "Kanskje kan de tidligere dataene dine åpnes igjen etter en oppdatering av appen."),
      .newerVersion: kept(
        "{date} kunne {app} ikke åpne dataene dine fordi de ble lagret med en nyere versjon av appen.",
        "Oppdater appen til den nyeste versjonen. Kanskje kan de tidligere dataene dine åpnes igjen etterpå."
      ),
      .damaged: kept(
        "{date} kunne {app} ikke åpne dataene dine fordi filen de er lagret i, er skadet.",
        "Ofte er det mulig å gjenopprette i det minste en del av slike data."),
      .encrypted: kept(
        "{date} kunne {app} ikke åpne dataene dine. De ser ut til å være kryptert, og den riktige nøkkelen var ikke tilgjengelig. Det er ikke et tegn på at de er skadet.",
        "Når den riktige nøkkelen er tilgjengelig, bør dataene kunne åpnes igjen."),
      .unreadable: kept(
        "{date} kunne {app} ikke åpne dataene dine fordi filen der de skulle ligge, inneholder noe som ikke kan leses.",
        "Brukerstøtten for appen kan hjelpe med å finne ut hva som har skjedd."),
      .technical: kept(
        "{date} kunne {app} ikke åpne dataene dine på grunn av et teknisk problem.",
        "Kanskje kan de tidligere dataene dine åpnes igjen etter en oppdatering av appen."),
      .replaced: Incident.Notice(
        title: "De tidligere dataene dine er tilbake",
        whatHappened:
          "{date} ble de tidligere dataene dine hentet tilbake. Dataene som var i bruk frem til da, ble lagt til side.",
        whatWasKept:
          "Ingenting er slettet. Dataene som var i bruk frem til da, ligger fortsatt i appens lagringsområde, uendret og for seg selv.",
        whatToDo:
          "Du trenger ikke å gjøre noe. Hvis du savner noe fra disse dataene, kan du kontakte brukerstøtten for appen og oppgi denne referansen: {reference}."
      ),
      .newestMissing: Incident.Notice(
        title: "De nyeste endringene dine kan mangle",
        whatHappened:
          "{date} oppdaget {app} at en fil med de nyeste endringene dine var skadet, og fortsatte med resten av dataene dine.",
        whatWasKept:
          "Ingenting er slettet. En kopi av filen med de nyeste endringene dine, slik den ble funnet, ligger i appens lagringsområde.",
        whatToDo:
          "Kontroller om noe mangler. I så fall kan du kontakte brukerstøtten for appen og oppgi denne referansen: {reference}. Ofte kan det som mangler, gjenopprettes."
      ),
      .restored: Incident.Notice(
        title: "De tidligere dataene dine er tilbake",
        whatHappened:
          "{date} kunne {app} ikke åpne dataene dine og la dem til side. De er senere hentet tilbake.",
        whatWasKept: "Ingenting er slettet. De tidligere dataene dine er i bruk igjen.",
        whatToDo: "Du trenger ikke å gjøre noe."),
      .putBack: Incident.Notice(
        title: "Dataene dine er på plass, uendret",
        whatHappened:
          "{date} kunne {app} ikke åpne dataene dine. Det var heller ikke mulig å starte med nye, tomme data. Derfor ble dataene dine lagt tilbake på plass.",
        whatWasKept: "Ingenting er slettet. Dataene dine er slik de var før.",
        whatToDo: "\(checkSpace) \(contact)"),
    ],
    failed: [
      .otherVersion: FailureNotice(
        title: "Dataene dine kommer fra en annen versjon",
        whatHappened:
          "{App} kunne ikke åpne dataene dine fordi de ble lagret med en annen versjon av appen. \(untouched)",
        whatToDo: "Se etter om det finnes en oppdatering av appen. \(contact) \(keepApp)"),
      .newerVersion: FailureNotice(
        title: "Oppdater {app}",
        whatHappened:
          "Dataene dine ble lagret med en nyere versjon av appen. Denne versjonen kan ikke lese dem. \(untouched)",
        whatToDo:
          "Oppdater appen til den nyeste versjonen, og åpne den på nytt. Hvis du ikke får tilbud om en oppdatering, kan du også se etter en oppdatering av systemet på enheten din. \(keepApp)"
      ),
      .damaged: FailureNotice(
        title: "Dataene dine kunne ikke åpnes",
        whatHappened:
          "Filen dataene dine er lagret i, ser ut til å være skadet eller ufullstendig. {App} har latt alt være som det er. \(untouched)",
        whatToDo:
          "Ofte er det mulig å gjenopprette i det minste en del av slike data. Kontakt brukerstøtten for appen før du prøver noe annet. \(keepApp)"
      ),
      .encrypted: FailureNotice(
        title: "Dataene dine kunne ikke låses opp",
        whatHappened:
          "Dataene dine ser ut til å være kryptert, og {app} hadde ikke den riktige nøkkelen. Det er ikke et tegn på at de er skadet. \(untouched)",
        whatToDo:
          "Hvis du bruker et passord for disse dataene, kan du kontrollere det og prøve på nytt. \(contact) \(keepApp)"
      ),
      .unreadable: FailureNotice(
        title: "Dataene dine kunne ikke åpnes",
        whatHappened:
          "Filen der dataene dine skulle ligge, inneholder noe {app} ikke kan lese. \(untouched)",
        whatToDo: "Kontakt brukerstøtten for appen. \(keepApp)"),
      .otherApp: FailureNotice(
        title: "Her ligger data fra en annen app",
        whatHappened:
          "Der {app} lagrer dataene dine, ser det ut til å ligge data fra en annen app. \(untouched)",
        whatToDo:
          "Ikke slett eller flytt disse dataene, for den andre appen kan fortsatt trenge dem. Kontakt brukerstøtten for appen."
      ),
      .technical: FailureNotice(
        title: "Dataene dine kunne ikke åpnes",
        whatHappened:
          "{App} kunne ikke åpne dataene dine på grunn av et teknisk problem. \(untouched)",
        whatToDo: "\(reopen) \(contact) \(keepApp)"),
      .inUse: FailureNotice(
        title: "Dataene dine er i bruk",
        whatHappened:
          "Et annet program eller en annen del av appen bruker dataene dine akkurat nå. Derfor kunne {app} ikke åpne dem. \(untouched)",
        whatToDo:
          "Vent litt, og prøv på nytt. Hvis problemet vedvarer, kan du starte enheten på nytt."),
      .deviceLocked: FailureNotice(
        title: "Dataene dine er fortsatt låst",
        whatHappened:
          "Enheten din beskytter dataene dine så lenge den er låst. Derfor kan {app} ikke åpne dem ennå. \(untouched)",
        whatToDo: "Lås opp enheten, og åpne {app} på nytt."),
      .diskFull: FailureNotice(
        title: "Det er ikke nok ledig plass",
        whatHappened:
          "{App} kan ikke åpne dataene dine fordi det er for lite ledig plass. \(untouched)",
        whatToDo: "Frigjør litt plass, og åpne {app} på nytt. \(keepApp)"),
      .noAccess: FailureNotice(
        title: "Dataene dine kan ikke nås",
        whatHappened:
          "{App} har ikke tilgang til stedet der dataene dine er lagret. \(untouched)",
        whatToDo:
          "Hvis dataene dine ligger på en ekstern disk eller i en nettverksmappe, kan du kontrollere at den er tilkoblet. Åpne deretter {app} på nytt. \(contact)"
      ),
      .storageFault: FailureNotice(
        title: "Lagringen kunne ikke leses",
        whatHappened:
          "Enheten din hadde problemer med å lese eller skrive data. Det betyr ikke at dataene dine er skadet. {App} har latt alt være som det er.",
        whatToDo:
          "Start enheten på nytt, og åpne deretter {app}. Hvis det skjer igjen, kan du sikkerhetskopiere enheten og kontakte brukerstøtten for appen."
      ),
      .momentary: FailureNotice(
        title: "Prøv på nytt",
        whatHappened:
          "{App} kunne ikke åpne dataene dine akkurat nå. Som regel går det fort over. \(untouched)",
        whatToDo: "Vent litt, og åpne {app} på nytt. \(contact)"),
      .newestMissing: FailureNotice(
        title: "De nyeste endringene dine kan mangle",
        whatHappened:
          "Da {app} åpnet dataene dine, var en fil med de nyeste endringene dine ikke lenger fullstendig. {App} fortsatte med resten av dataene dine.",
        whatToDo: "Kontroller om noe mangler. I så fall kan du kontakte brukerstøtten for appen."),
      .keepsFailing: FailureNotice(
        title: "Dataene dine kunne fortsatt ikke åpnes",
        whatHappened:
          "{App} kunne ikke åpne dataene dine. Det samme har skjedd flere ganger, og derfor ble alt latt være som det er denne gangen. \(untouched)",
        whatToDo:
          "Hvis {app} lar deg fortsette, blir nye oppføringer kanskje ikke lagret. Start enheten på nytt, og se etter en oppdatering av appen. \(contact) \(keepApp)"
      ),
      .inBackground: FailureNotice(
        title: "Åpne {app}",
        whatHappened: "Dataene dine kunne ikke åpnes i bakgrunnen. \(untouched)",
        whatToDo: "Åpne {app} for å fortsette."),
      .putBack: FailureNotice(
        title: "Dataene dine er på plass, uendret",
        whatHappened:
          "{App} kunne ikke åpne dataene dine. Det var heller ikke mulig å starte med nye, tomme data. Derfor ble dataene dine lagt tilbake på plass. Ingenting er slettet.",
        whatToDo: "\(checkSpace) \(contact)"),
    ],
    besideNote: "De bevarte dataene ligger i mappen «store» ved siden av dette notatet.",
    inFolder: "De bevarte dataene ligger i denne mappen:\n{folder}")

  private static func kept(_ cause: String, _ hope: String) -> Incident.Notice {
    Incident.Notice(
      title: "De tidligere dataene dine er bevart, men kunne ikke åpnes",
      whatHappened:
        "\(cause) Deretter startet {app} med nye, tomme data, slik at du kan fortsette.",
      whatWasKept:
        "Ingenting er slettet. De tidligere dataene dine ligger fortsatt i appens lagringsområde, uendret og atskilt fra de nye.",
      whatToDo:
        "\(hope) Ikke slett appen, for da kan også de bevarte dataene bli slettet. Hvis du trenger hjelp, kan du kontakte brukerstøtten for appen og oppgi denne referansen: {reference}."
    )
  }

  private static let untouched = "Ingenting er endret eller slettet."
  private static let keepApp = "Ikke slett appen, for da kan også dataene dine bli slettet."
  private static let contact = "Hvis det ikke hjelper, kan du kontakte brukerstøtten for appen."
  private static let reopen = "Lukk {app}, og prøv på nytt."
  private static let checkSpace =
    "Kontroller at det er nok ledig plass, og åpne {app} på nytt."

  /// Formats a time as `20. november 2026 kl. 21.53`.
  private static func date(_ time: Time) -> String {
    let months = [
      "januar", "februar", "mars", "april", "mai", "juni", "juli", "august", "september",
      "oktober", "november", "desember",
    ]
    let hour = "\(time.paddedHour).\(time.paddedMinute)"
    return "\(time.day). \(months[time.month - 1]) \(time.year) kl. \(hour)"
  }
}
