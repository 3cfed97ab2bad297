extension NoticeWords {
  /// The words of the notices in Simplified Chinese, with the polite address.
  static let simplifiedChinese = NoticeWords(
    unnamedApp: ("应用", "应用"), quotes: ("“", "”"), date: date,
    kept: [
      .otherVersion: kept(
        "{date}，{app}未能打开您的数据，因为这些数据是由应用的其他版本保存的。", "更新应用后，也许可以重新打开您之前的数据。"),
      .newerVersion: kept(
        "{date}，{app}未能打开您的数据，因为这些数据是由应用的较新版本保存的。",
        "请将应用更新到最新版本，之后也许可以重新打开您之前的数据。"),
      .damaged: kept("{date}，{app}未能打开您的数据，因为存放数据的文件已损坏。", "这类数据通常至少可以恢复一部分。"),
      .encrypted: kept(
        "{date}，{app}未能打开您的数据。这些数据似乎已加密，而当时没有正确的密钥。这并不表示数据已损坏。",
        "有了正确的密钥后，应该可以重新打开这些数据。"),
      .unreadable: kept("{date}，{app}未能打开您的数据，因为应用无法读取本应存放数据的文件中的内容。", "应用的支持团队可以协助查明原因。"),
      .technical: kept("{date}，由于技术问题，{app}未能打开您的数据。", "更新应用后，也许可以重新打开您之前的数据。"),
      .replaced: Incident.Notice(
        title: "您之前的数据已恢复",
        whatHappened: "{date}，您之前的数据已恢复。在此之前使用的数据已移到别处保存。",
        whatWasKept: "没有删除任何内容。在此之前使用的数据仍在应用的存储空间中，保持原样并单独存放。",
        whatToDo: "您无需进行任何操作。如果您需要其中的内容，请联系应用的支持团队，并提供以下编号：{reference}。"),
      .newestMissing: Incident.Notice(
        title: "您最近的更改可能有缺失",
        whatHappened:
          "{date}，{app}发现包含您最近更改的文件已损坏，并继续使用其余数据。",
        whatWasKept:
          "没有删除任何内容。包含您最近更改的文件已按发现时的原样复制一份，保留在应用的存储空间中。",
        whatToDo:
          "请检查是否有内容缺失。如有缺失，请联系应用的支持团队，并提供以下编号：{reference}。缺失的部分通常可以恢复。"
      ),
      .restored: Incident.Notice(
        title: "您之前的数据已恢复",
        whatHappened: "{date}，{app}未能打开您的数据，并将其移到别处保存。此后，这些数据已恢复。",
        whatWasKept: "没有删除任何内容。目前使用的是您之前的数据。",
        whatToDo: "您无需进行任何操作。"),
      .putBack: Incident.Notice(
        title: "您的数据仍在原处，没有变化",
        whatHappened: "{date}，{app}未能打开您的数据，也无法以全新的空白数据启动，因此已将您的数据放回原处。",
        whatWasKept: "没有删除任何内容。您的数据与之前一样。",
        whatToDo: "\(checkSpace)\(contact)"),
    ],
    failed: [
      .otherVersion: FailureNotice(
        title: "您的数据由其他版本保存",
        whatHappened: "{app}未能打开您的数据，因为这些数据是由应用的其他版本保存的。\(untouched)",
        whatToDo: "请查看应用是否有可用的更新。\(contact)\(keepApp)"),
      .newerVersion: FailureNotice(
        title: "请更新{app}",
        whatHappened: "您的数据是由较新版本保存的，当前版本无法读取。\(untouched)",
        whatToDo: "请将应用更新到最新版本，然后重新打开。如果没有可用的更新，请同时查看设备的系统更新。\(keepApp)"),
      .damaged: FailureNotice(
        title: "未能打开您的数据",
        whatHappened: "存放您的数据的文件似乎已损坏或不完整。一切均保持原样。\(untouched)",
        whatToDo: "这类数据通常至少可以恢复一部分。在尝试其他操作之前，请先联系应用的支持团队。\(keepApp)"),
      .encrypted: FailureNotice(
        title: "未能解锁您的数据",
        whatHappened: "您的数据似乎已加密，而{app}没有正确的密钥。这并不表示数据已损坏。\(untouched)",
        whatToDo: "如果您为这些数据设置了密码，请检查密码后重试。\(contact)\(keepApp)"),
      .unreadable: FailureNotice(
        title: "未能打开您的数据",
        whatHappened: "{app}无法读取本应存放您的数据的文件中的内容。\(untouched)",
        whatToDo: "请联系应用的支持团队。\(keepApp)"),
      .otherApp: FailureNotice(
        title: "此处存放着其他应用的数据",
        whatHappened:
          "{app}存放您的数据的位置似乎存放着其他应用的数据。\(untouched)",
        whatToDo:
          "请不要删除或移动这些数据，因为其他应用可能仍需要它们。请联系应用的支持团队。"
      ),
      .technical: FailureNotice(
        title: "未能打开您的数据",
        whatHappened: "由于技术问题，{app}未能打开您的数据。\(untouched)",
        whatToDo: "\(reopen)\(contact)\(keepApp)"),
      .inUse: FailureNotice(
        title: "您的数据正在使用中",
        whatHappened: "其他程序或应用的其他部分正在使用您的数据，因此{app}未能打开这些数据。\(untouched)",
        whatToDo: "请稍等片刻，然后重试。如果问题仍然存在，请重新启动设备。"),
      .deviceLocked: FailureNotice(
        title: "您的数据仍处于锁定状态",
        whatHappened: "设备锁定时会保护您的数据，因此{app}暂时无法打开这些数据。\(untouched)",
        whatToDo: "请解锁设备，然后重新打开{app}。"),
      .diskFull: FailureNotice(
        title: "可用空间不足",
        whatHappened: "由于可用空间太少，{app}无法打开您的数据。\(untouched)",
        whatToDo: "请释放一些空间，然后重新打开{app}。\(keepApp)"),
      .noAccess: FailureNotice(
        title: "无法访问您的数据",
        whatHappened: "{app}无法访问存放您的数据的位置。\(untouched)",
        whatToDo: "如果您的数据存放在外置硬盘或网络文件夹中，请检查连接，然后重新打开{app}。\(contact)"),
      .storageFault: FailureNotice(
        title: "无法读取存储设备",
        whatHappened: "您的设备在读写存储时遇到了问题。这并不表示您的数据已损坏。一切均保持原样。",
        whatToDo: "请重新启动设备，然后重新打开{app}。如果再次出现此问题，请备份设备，并联系应用的支持团队。"),
      .momentary: FailureNotice(
        title: "请重试",
        whatHappened: "{app}刚才未能打开您的数据。这通常是暂时的。\(untouched)",
        whatToDo: "请稍等片刻，然后重新打开{app}。\(contact)"),
      .newestMissing: FailureNotice(
        title: "您最近的更改可能有缺失",
        whatHappened:
          "{app}打开您的数据时，包含您最近更改的文件已不完整。{app}已继续使用其余数据。",
        whatToDo: "请检查是否有内容缺失。如有缺失，请联系应用的支持团队。"),
      .keepsFailing: FailureNotice(
        title: "您的数据仍然无法打开",
        whatHappened:
          "{app}未能打开您的数据。由于同样的情况已多次发生，这次一切都保持原样。\(untouched)",
        whatToDo:
          "如果您可以继续使用{app}，新输入的内容可能不会被保存。请重新启动设备，并检查应用是否有更新。\(contact)\(keepApp)"
      ),
      .inBackground: FailureNotice(
        title: "请打开{app}",
        whatHappened: "未能在后台打开您的数据。\(untouched)",
        whatToDo: "请打开{app}以继续。"),
      .putBack: FailureNotice(
        title: "您的数据仍在原处，没有变化",
        whatHappened: "{app}未能打开您的数据，也无法以全新的空白数据启动，因此已将您的数据放回原处。没有删除任何内容。",
        whatToDo: "\(checkSpace)\(contact)"),
    ],
    besideNote: "保留的数据位于此说明旁边的“store”文件夹中。",
    inFolder: "保留的数据位于以下文件夹：\n{folder}")

  private static func kept(_ cause: String, _ hope: String) -> Incident.Notice {
    Incident.Notice(
      title: "您之前的数据已保留，但未能打开",
      whatHappened: "\(cause)为了让您能继续使用，{app}随后以全新的空白数据启动。",
      whatWasKept: "没有删除任何内容。您之前的数据仍在应用的存储空间中，保持原样，并与新数据分开存放。",
      whatToDo:
        "\(hope)请不要删除应用，否则保留的数据也可能会被删除。如需帮助，请联系应用的支持团队，并提供以下编号：{reference}。"
    )
  }

  private static let untouched = "没有更改或删除任何内容。"
  private static let keepApp = "请不要删除应用，否则您的数据也可能会被删除。"
  private static let contact = "如果仍未解决，请联系应用的支持团队。"
  private static let reopen = "请关闭{app}，然后重新打开。"
  private static let checkSpace = "请确保有足够的可用空间，然后重新打开{app}。"

  /// Formats a time as `2026年11月20日 21:53`.
  private static func date(_ time: Time) -> String {
    "\(time.year)年\(time.month)月\(time.day)日 \(time.hour):\(time.paddedMinute)"
  }
}
