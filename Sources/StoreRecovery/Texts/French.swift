extension NoticeWords {
  /// The words of the notices in French, with the formal address. Colons and guillemets have their no-break space.
  static let french = NoticeWords(
    unnamedApp: ("l’app", "L’app"), quotes: ("«\u{A0}", "\u{A0}»"), date: date,
    kept: [
      .otherVersion: kept(
        "Le {date}, {app} n’a pas pu ouvrir vos données, car elles ont été enregistrées par une autre version de l’app.",
        "Une mise à jour de l’app permettra peut-être de rouvrir vos données précédentes."),
      .newerVersion: kept(
        "Le {date}, {app} n’a pas pu ouvrir vos données, car elles ont été enregistrées par une version plus récente de l’app.",
        "Veuillez installer la dernière version de l’app, qui permettra peut-être de rouvrir vos données précédentes."
      ),
      .damaged: kept(
        "Le {date}, {app} n’a pas pu ouvrir vos données, car le fichier qui les contient est endommagé.",
        "Il est souvent possible de récupérer au moins une partie des données."),
      .encrypted: kept(
        "Le {date}, {app} n’a pas pu ouvrir vos données. Elles semblent être chiffrées et la bonne clé n’était pas disponible. Cela ne veut pas dire qu’elles sont endommagées.",
        "Dès que la bonne clé sera disponible, il devrait être possible de rouvrir ces données."),
      .unreadable: kept(
        "Le {date}, {app} n’a pas pu ouvrir vos données, car le contenu du fichier où elles devraient se trouver ne peut pas être lu par l’app.",
        "L’assistance de l’app pourra vous aider à comprendre ce qui s’est passé."),
      .technical: kept(
        "Le {date}, {app} n’a pas pu ouvrir vos données en raison d’un problème technique.",
        "Une mise à jour de l’app permettra peut-être de rouvrir vos données précédentes."),
      .replaced: Incident.Notice(
        title: "Vos données précédentes sont de retour",
        whatHappened:
          "Le {date}, vos données précédentes ont été remises en place. Les données utilisées jusque-là ont été mises de côté.",
        whatWasKept:
          "Rien n’a été supprimé. Les données utilisées jusque-là se trouvent toujours dans l’espace de stockage de l’app, inchangées et conservées à part.",
        whatToDo:
          "Vous n’avez rien à faire. S’il vous manque quelque chose parmi ces données, contactez l’assistance de l’app et indiquez cette référence\u{A0}: {reference}."
      ),
      .newestMissing: Incident.Notice(
        title: "Vos dernières modifications manquent peut-être",
        whatHappened:
          "Le {date}, {app} a constaté qu’un fichier contenant vos dernières modifications était endommagé, et a continué avec le reste de vos données.",
        whatWasKept:
          "Rien n’a été supprimé. Une copie du fichier contenant vos dernières modifications, tel qu’il a été trouvé, se trouve dans l’espace de stockage de l’app.",
        whatToDo:
          "Veuillez vérifier s’il manque quelque chose. Si c’est le cas, contactez l’assistance de l’app et indiquez cette référence\u{A0}: {reference}. Il est souvent possible de récupérer la partie manquante."
      ),
      .restored: Incident.Notice(
        title: "Vos données précédentes sont de retour",
        whatHappened:
          "Le {date}, {app} n’a pas pu ouvrir vos données et les a mises de côté. Elles ont depuis été remises en place.",
        whatWasKept:
          "Rien n’a été supprimé. Vos données précédentes sont de nouveau utilisées.",
        whatToDo: "Vous n’avez rien à faire."),
      .putBack: Incident.Notice(
        title: "Vos données sont à leur place, inchangées",
        whatHappened:
          "Le {date}, {app} n’a pas pu ouvrir vos données. Il n’a pas non plus été possible de commencer avec de nouvelles données vides. Vos données ont donc été remises à leur place.",
        whatWasKept: "Rien n’a été supprimé. Vos données sont telles qu’elles étaient auparavant.",
        whatToDo: "\(checkSpace) \(contact)"),
    ],
    failed: [
      .otherVersion: FailureNotice(
        title: "Vos données proviennent d’une autre version",
        whatHappened:
          "{App} n’a pas pu ouvrir vos données, car elles ont été enregistrées par une autre version de l’app. \(untouched)",
        whatToDo:
          "Veuillez vérifier si une mise à jour de l’app est disponible. \(contact) \(keepApp)"),
      .newerVersion: FailureNotice(
        title: "Veuillez mettre à jour {app}",
        whatHappened:
          "Vos données ont été enregistrées par une version plus récente de l’app. La version actuelle ne peut pas les lire. \(untouched)",
        whatToDo:
          "Veuillez installer la dernière version de l’app, puis l’ouvrir de nouveau. Si aucune mise à jour n’est proposée, vérifiez aussi celles du système de votre appareil. \(keepApp)"
      ),
      .damaged: FailureNotice(
        title: "Vos données n’ont pas pu être ouvertes",
        whatHappened:
          "Le fichier qui contient vos données semble être endommagé ou incomplet. {App} a tout laissé en l’état. \(untouched)",
        whatToDo:
          "Il est souvent possible de récupérer au moins une partie des données. Veuillez contacter l’assistance de l’app avant d’essayer autre chose. \(keepApp)"
      ),
      .encrypted: FailureNotice(
        title: "Vos données n’ont pas pu être déverrouillées",
        whatHappened:
          "Vos données semblent être chiffrées et {app} ne disposait pas de la bonne clé. Cela ne veut pas dire qu’elles sont endommagées. \(untouched)",
        whatToDo:
          "Si vous utilisez un mot de passe pour ces données, veuillez le vérifier et réessayer. \(contact) \(keepApp)"
      ),
      .unreadable: FailureNotice(
        title: "Vos données n’ont pas pu être ouvertes",
        whatHappened:
          "Le contenu du fichier où vos données devraient se trouver n’a pas pu être lu. {App} a tout laissé en l’état. \(untouched)",
        whatToDo: "Veuillez contacter l’assistance de l’app. \(keepApp)"),
      .otherApp: FailureNotice(
        title: "Des données d’une autre app occupent cet emplacement",
        whatHappened:
          "L’emplacement où {app} enregistre vos données semble contenir celles d’une autre app. {App} a tout laissé en l’état. \(untouched)",
        whatToDo:
          "Ne supprimez pas ces données et ne les déplacez pas, car l’autre app en a peut-être encore besoin. Veuillez contacter l’assistance de l’app."
      ),
      .technical: FailureNotice(
        title: "Vos données n’ont pas pu être ouvertes",
        whatHappened:
          "{App} n’a pas pu ouvrir vos données en raison d’un problème technique. \(untouched)",
        whatToDo: "\(reopen) \(contact) \(keepApp)"),
      .inUse: FailureNotice(
        title: "Vos données sont en cours d’utilisation",
        whatHappened:
          "Un autre programme, ou une autre partie de l’app, utilise vos données en ce moment. {App} n’a donc pas pu les ouvrir. \(untouched)",
        whatToDo:
          "Veuillez patienter un instant, puis réessayer. Si le problème persiste, redémarrez votre appareil."
      ),
      .deviceLocked: FailureNotice(
        title: "Vos données sont encore verrouillées",
        whatHappened:
          "Votre appareil protège vos données tant qu’il est verrouillé. {App} ne peut donc pas encore les ouvrir. \(untouched)",
        whatToDo: "Veuillez déverrouiller votre appareil, puis rouvrir {app}."),
      .diskFull: FailureNotice(
        title: "L’espace libre est insuffisant",
        whatHappened:
          "{App} ne peut pas ouvrir vos données, car il reste trop peu d’espace libre. \(untouched)",
        whatToDo: "Veuillez libérer de l’espace, puis rouvrir {app}. \(keepApp)"),
      .noAccess: FailureNotice(
        title: "Vos données sont inaccessibles",
        whatHappened:
          "{App} n’a pas accès à l’emplacement où vos données sont enregistrées. \(untouched)",
        whatToDo:
          "Si vos données se trouvent sur un disque externe ou dans un dossier réseau, veuillez vérifier que la connexion est établie. Rouvrez ensuite {app}. \(contact)"
      ),
      .storageFault: FailureNotice(
        title: "Le stockage n’a pas pu être lu",
        whatHappened:
          "Votre appareil a eu des difficultés à accéder à son stockage. Cela ne veut pas dire que vos données sont endommagées. {App} a tout laissé en l’état.",
        whatToDo:
          "Veuillez redémarrer votre appareil, puis rouvrir {app}. Si le problème se reproduit, sauvegardez votre appareil et contactez l’assistance de l’app."
      ),
      .momentary: FailureNotice(
        title: "Veuillez réessayer",
        whatHappened:
          "{App} n’a pas pu ouvrir vos données pour le moment. En général, ce problème est passager. \(untouched)",
        whatToDo: "Veuillez patienter un instant, puis rouvrir {app}. \(contact)"),
      .newestMissing: FailureNotice(
        title: "Vos dernières modifications manquent peut-être",
        whatHappened:
          "Lorsque {app} a ouvert vos données, un fichier contenant vos dernières modifications n’était plus complet. {App} a continué avec le reste de vos données.",
        whatToDo:
          "Veuillez vérifier s’il manque quelque chose. Si c’est le cas, contactez l’assistance de l’app."
      ),
      .keepsFailing: FailureNotice(
        title: "Vos données n’ont toujours pas pu être ouvertes",
        whatHappened:
          "{App} n’a pas pu ouvrir vos données. Comme cela s’est déjà produit plusieurs fois, tout a été laissé en l’état cette fois-ci. \(untouched)",
        whatToDo:
          "Si {app} vous permet de continuer, vos nouvelles saisies ne seront peut-être pas enregistrées. Veuillez redémarrer votre appareil et vérifier si une mise à jour de l’app est disponible. \(contact) \(keepApp)"
      ),
      .inBackground: FailureNotice(
        title: "Veuillez ouvrir {app}",
        whatHappened: "Vos données n’ont pas pu être ouvertes en arrière-plan. \(untouched)",
        whatToDo: "Ouvrez {app} pour continuer."),
      .putBack: FailureNotice(
        title: "Vos données sont à leur place, inchangées",
        whatHappened:
          "{App} n’a pas pu ouvrir vos données. Il n’a pas non plus été possible de commencer avec de nouvelles données vides. Vos données ont donc été remises à leur place. Rien n’a été supprimé.",
        whatToDo: "\(checkSpace) \(contact)"),
    ],
    besideNote:
      "Les données conservées se trouvent dans le dossier «\u{A0}store\u{A0}», à côté de cette note.",
    inFolder: "Les données conservées se trouvent dans ce dossier\u{A0}:\n{folder}")

  private static func kept(_ cause: String, _ hope: String) -> Incident.Notice {
    Incident.Notice(
      title: "Vos données précédentes ont été conservées, mais n’ont pas pu être ouvertes",
      whatHappened:
        "\(cause) {App} a ensuite démarré avec de nouvelles données vides, pour que vous puissiez continuer.",
      whatWasKept:
        "Rien n’a été supprimé. Vos données précédentes se trouvent toujours dans l’espace de stockage de l’app, inchangées et séparées des nouvelles.",
      whatToDo:
        "\(hope) Ne supprimez pas l’app, car les données conservées pourraient être supprimées avec elle. Si vous avez besoin d’aide, contactez l’assistance de l’app et indiquez cette référence\u{A0}: {reference}."
    )
  }

  private static let untouched = "Rien n’a été modifié ni supprimé."
  private static let keepApp =
    "Ne supprimez pas l’app, car vos données pourraient être supprimées avec elle."
  private static let contact = "Si cela ne suffit pas, contactez l’assistance de l’app."
  private static let reopen = "Veuillez fermer {app}, puis l’ouvrir de nouveau."
  private static let checkSpace =
    "Veuillez vérifier qu’il reste assez d’espace libre, puis rouvrir {app}."

  /// Formats a time as `20 novembre 2026 à 21 h 53`, with `1er` for the first of a month.
  private static func date(_ time: Time) -> String {
    let months = [
      "janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre",
      "octobre", "novembre", "décembre",
    ]
    let day = time.day == 1 ? "1er" : "\(time.day)"
    let hour = "\(time.hour)\u{A0}h\u{A0}\(time.paddedMinute)"
    return "\(day) \(months[time.month - 1]) \(time.year) à \(hour)"
  }
}
