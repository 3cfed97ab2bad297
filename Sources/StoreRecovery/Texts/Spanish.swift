extension NoticeWords {
  /// The words of the notices in Spanish, chosen to be common to Spain and the Americas.
  static let spanish = NoticeWords(
    unnamedApp: ("la app", "La app"), quotes: ("“", "”"), date: date,
    kept: [
      .otherVersion: kept(
        "El {date}, {app} no pudo abrir tus datos porque se guardaron con otra versión de la app.",
        "Es posible que una actualización de la app pueda volver a abrir tus datos anteriores."),
      .newerVersion: kept(
        "El {date}, {app} no pudo abrir tus datos porque se guardaron con una versión más reciente de la app.",
        "Actualiza la app a la última versión. Es posible que así se puedan volver a abrir tus datos anteriores."
      ),
      .damaged: kept(
        "El {date}, {app} no pudo abrir tus datos porque el archivo que los contiene está dañado.",
        "A menudo es posible recuperar al menos una parte de los datos."),
      .encrypted: kept(
        "El {date}, {app} no pudo abrir tus datos. Parecen estar cifrados y no se disponía de la clave correcta. Esto no indica que estén dañados.",
        "En cuanto se disponga de la clave correcta, debería ser posible volver a abrirlos."),
      .unreadable: kept(
        "El {date}, {app} no pudo abrir tus datos porque el archivo que debería contenerlos tiene un contenido que la app no puede leer.",
        "El soporte de la app puede ayudar a averiguar qué ocurrió."),
      .technical: kept(
        "El {date}, {app} no pudo abrir tus datos por un problema técnico.",
        "Es posible que una actualización de la app pueda volver a abrir tus datos anteriores."),
      .replaced: Incident.Notice(
        title: "Tus datos anteriores están de vuelta",
        whatHappened:
          "El {date} se recuperaron tus datos anteriores. Los datos que se usaban hasta entonces se guardaron aparte.",
        whatWasKept:
          "No se eliminó nada. Los datos que se usaban hasta entonces siguen en el almacenamiento de la app, sin cambios.",
        whatToDo:
          "No tienes que hacer nada. Si te falta algo de esos datos, ponte en contacto con el soporte de la app e indica esta referencia: {reference}."
      ),
      .newestMissing: Incident.Notice(
        title: "Es posible que falten tus cambios más recientes",
        whatHappened:
          "El {date}, {app} detectó que un archivo con tus cambios más recientes estaba dañado y siguió con el resto de tus datos.",
        whatWasKept:
          "No se eliminó nada. En el almacenamiento de la app hay una copia del archivo con tus cambios más recientes, tal como se encontró.",
        whatToDo:
          "Comprueba si falta algo. Si es así, ponte en contacto con el soporte de la app e indica esta referencia: {reference}. A menudo es posible recuperar la parte que falta."
      ),
      .restored: Incident.Notice(
        title: "Tus datos anteriores están de vuelta",
        whatHappened:
          "El {date}, {app} no pudo abrir tus datos y los guardó aparte. Ya se han recuperado.",
        whatWasKept: "No se eliminó nada. Tus datos anteriores vuelven a estar en uso.",
        whatToDo: "No tienes que hacer nada."),
      .putBack: Incident.Notice(
        title: "Tus datos están en su lugar, sin cambios",
        whatHappened:
          "El {date}, {app} no pudo abrir tus datos. Tampoco fue posible empezar con datos nuevos y vacíos, así que tus datos volvieron a su lugar.",
        whatWasKept: "No se eliminó nada. Tus datos están como estaban antes.",
        whatToDo: "\(checkSpace) \(contact)"),
    ],
    failed: [
      .otherVersion: FailureNotice(
        title: "Tus datos son de otra versión",
        whatHappened:
          "{App} no pudo abrir tus datos porque se guardaron con otra versión de la app. \(untouched)",
        whatToDo: "Comprueba si hay una actualización de la app. \(contact) \(keepApp)"),
      .newerVersion: FailureNotice(
        title: "Actualiza {app}",
        whatHappened:
          "Tus datos se guardaron con una versión más reciente de la app. Esta versión no puede leerlos. \(untouched)",
        whatToDo:
          "Actualiza la app a la última versión y vuelve a abrirla. Si no aparece ninguna actualización, comprueba también las del sistema de tu dispositivo. \(keepApp)"
      ),
      .damaged: FailureNotice(
        title: "No se pudieron abrir tus datos",
        whatHappened:
          "El archivo que contiene tus datos parece estar dañado o incompleto. {App} dejó todo como está. \(untouched)",
        whatToDo:
          "A menudo es posible recuperar al menos una parte de los datos. Ponte en contacto con el soporte de la app antes de intentar otra cosa. \(keepApp)"
      ),
      .encrypted: FailureNotice(
        title: "No se pudieron desbloquear tus datos",
        whatHappened:
          "Tus datos parecen estar cifrados y {app} no disponía de la clave correcta. Esto no indica que estén dañados. \(untouched)",
        whatToDo:
          "Si usas una contraseña para estos datos, compruébala y vuelve a intentarlo. \(contact) \(keepApp)"
      ),
      .unreadable: FailureNotice(
        title: "No se pudieron abrir tus datos",
        whatHappened:
          "El archivo que debería contener tus datos tiene un contenido que {app} no puede leer. \(untouched)",
        whatToDo: "Ponte en contacto con el soporte de la app. \(keepApp)"),
      .otherApp: FailureNotice(
        title: "Hay datos de otra app en este lugar",
        whatHappened:
          "En el lugar donde {app} guarda tus datos parece haber datos de otra app. \(untouched)",
        whatToDo:
          "No elimines ni muevas esos datos, porque la otra app podría necesitarlos todavía. Ponte en contacto con el soporte de la app."
      ),
      .technical: FailureNotice(
        title: "No se pudieron abrir tus datos",
        whatHappened: "{App} no pudo abrir tus datos por un problema técnico. \(untouched)",
        whatToDo: "\(reopen) \(contact) \(keepApp)"),
      .inUse: FailureNotice(
        title: "Tus datos están en uso",
        whatHappened:
          "Otro programa, u otra parte de la app, está usando tus datos en este momento. Por eso {app} no pudo abrirlos. \(untouched)",
        whatToDo:
          "Espera un momento y vuelve a intentarlo. Si eso no ayuda, reinicia tu dispositivo."),
      .deviceLocked: FailureNotice(
        title: "Tus datos siguen bloqueados",
        whatHappened:
          "Tu dispositivo protege tus datos mientras está bloqueado. Por eso {app} aún no puede abrirlos. \(untouched)",
        whatToDo: "Desbloquea tu dispositivo y vuelve a abrir {app}."),
      .diskFull: FailureNotice(
        title: "No hay suficiente espacio libre",
        whatHappened:
          "{App} no puede abrir tus datos porque queda muy poco espacio libre. \(untouched)",
        whatToDo: "Libera espacio y vuelve a abrir {app}. \(keepApp)"),
      .noAccess: FailureNotice(
        title: "No se puede acceder a tus datos",
        whatHappened:
          "{App} no tiene acceso al lugar donde se guardan tus datos. \(untouched)",
        whatToDo:
          "Si tus datos están en un disco externo o en una carpeta de red, comprueba que haya conexión. Después, vuelve a abrir {app}. \(contact)"
      ),
      .storageFault: FailureNotice(
        title: "No se pudo leer el almacenamiento",
        whatHappened:
          "Tu dispositivo tuvo dificultades para acceder a su almacenamiento. Esto no significa que tus datos estén dañados. {App} dejó todo como está.",
        whatToDo:
          "Reinicia tu dispositivo y vuelve a abrir {app}. Si vuelve a ocurrir, haz una copia de seguridad de tu dispositivo y ponte en contacto con el soporte de la app."
      ),
      .momentary: FailureNotice(
        title: "Vuelve a intentarlo",
        whatHappened:
          "{App} no pudo abrir tus datos en este momento. Por lo general, es algo pasajero. \(untouched)",
        whatToDo: "Espera un momento y vuelve a abrir {app}. \(contact)"),
      .newestMissing: FailureNotice(
        title: "Es posible que falten tus cambios más recientes",
        whatHappened:
          "Cuando {app} abrió tus datos, un archivo con tus cambios más recientes ya no estaba completo. {App} siguió con el resto de tus datos.",
        whatToDo: "Comprueba si falta algo. Si es así, ponte en contacto con el soporte de la app."),
      .keepsFailing: FailureNotice(
        title: "Tus datos tampoco se pudieron abrir esta vez",
        whatHappened:
          "{App} no pudo abrir tus datos. Como ya había ocurrido varias veces, esta vez se dejó todo como estaba. \(untouched)",
        whatToDo:
          "Si {app} te permite continuar, es posible que los datos nuevos no se guarden. Reinicia el dispositivo y comprueba si hay una actualización de la app. \(contact) \(keepApp)"
      ),
      .inBackground: FailureNotice(
        title: "Abre {app}",
        whatHappened: "No se pudieron abrir tus datos en segundo plano. \(untouched)",
        whatToDo: "Abre {app} para continuar."),
      .putBack: FailureNotice(
        title: "Tus datos están en su lugar, sin cambios",
        whatHappened:
          "{App} no pudo abrir tus datos. Tampoco fue posible empezar con datos nuevos y vacíos, así que tus datos volvieron a su lugar. No se eliminó nada.",
        whatToDo: "\(checkSpace) \(contact)"),
    ],
    besideNote: "Los datos conservados están en la carpeta “store”, junto a esta nota.",
    inFolder: "Los datos conservados están en esta carpeta:\n{folder}")

  private static func kept(_ cause: String, _ hope: String) -> Incident.Notice {
    Incident.Notice(
      title: "Se conservaron tus datos anteriores, pero no se pudieron abrir",
      whatHappened:
        "\(cause) Después, {app} empezó con datos nuevos y vacíos para que puedas continuar.",
      whatWasKept:
        "No se eliminó nada. Tus datos anteriores siguen en el almacenamiento de la app, sin cambios y separados de los nuevos.",
      whatToDo:
        "\(hope) No elimines la app, porque también podrían eliminarse los datos conservados. Si necesitas ayuda, ponte en contacto con el soporte de la app e indica esta referencia: {reference}."
    )
  }

  private static let untouched = "No se modificó ni se eliminó nada."
  private static let keepApp =
    "No elimines la app, porque también podrían eliminarse tus datos."
  private static let contact = "Si eso no ayuda, ponte en contacto con el soporte de la app."
  private static let reopen = "Cierra {app} y vuelve a intentarlo."
  private static let checkSpace =
    "Comprueba que haya suficiente espacio libre y vuelve a abrir {app}."

  /// Formats a time as `20 de noviembre de 2026 a las 21:53`; one o'clock is singular.
  private static func date(_ time: Time) -> String {
    let months = [
      "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre",
      "octubre", "noviembre", "diciembre",
    ]
    let article = time.hour == 1 ? "la" : "las"
    let hour = "\(time.hour):\(time.paddedMinute)"
    return "\(time.day) de \(months[time.month - 1]) de \(time.year) a \(article) \(hour)"
  }
}
