// Words of a share, in simplified Chinese.

import type { share as english } from "./en-share.ts";
import type { Words } from "./form.ts";

export const share: Pick<Words, keyof typeof english> = {
  shareOf: (task, version) => `${task} 的分享,由 milepost ${version} 制作`,
  shareTitle: "此分享",
  shareDetails: "详情",
  shareWhy: "这是任务的副本。要继续它,请导入:milepost import FILE.html",
  shareHasNot: "分享中没有此内容。",
  shareNoFiles: "分享中没有已捕获的文件。",
  shareNoState: "此文件没有该点的状态。",
  shareNoBlame: "分享中没有消息的历史:每条消息都是一个事件。",
  shareNoAlign: "此文件没有这两者的比较:它们太长。",
  shareOnlyTask: (task) => `此文件只有一个任务:${task}。`,
  shareOnlyActive: (head) => `分享只把活动谱系的末端 ${head} 与其他谱系的末端作比较。`,
  shareHeadsOnly: "分享只有整条谱系的指标:请去掉偏移。",
  shareDamaged: (part) => `此文件已损坏:无法读取 ${part}。`,
  shareUnknown: "此文件中没有版本 1 的分享,可能已损坏。",
  withheld: "已隐去:此文本不受哈希保护",
  withheldAll: "已隐去:此事件的正文不在文件中",
  onTrust: "仅凭信任:头部与此文本均不受哈希保护",
  checkWaits: "尚未验证",
  checkRuns: (done, all) => `正在验证:${done} / ${all} 个事件`,
  checkFailed: "无法进行验证。",
  checkResult: (whole, all, withheld, trusted) =>
    `${all} 个事件中 ${whole} 个完整,${withheld} 个已隐去,${trusted} 个仅凭信任`,
  checkHead: (head) => `末端 ${head}:请与发送者的对照`,
  checkKeyed: "哈希带密钥:只有存储的密钥能验证它们",
  checkDigest: "文件的摘要不符。",
  checkFaults: (n) => `${n} 处错误`,
  checkFaultsMore: (n) => `另有 ${n} 处错误`,
  checkFaultAt: (line) => `第 ${line} 行`,
  checkRows: "列表、轮次、状态、比较和指标不在验证之内",
  checkContents: "标题中的任务、用户或活动谱系与事件不符",
  checkIndex:
    "已验证的是“步骤”和“原始数据”中的事件。列表、状态、比较和指标来自它们的索引,不受哈希保护;" +
    "导入时不读取索引。",
  checkSays:
    "这表明文件是完整的,而非由谁写成:作者也可能写出另一段历史及其哈希。用自己的程序验证更可靠:",
  importHow: "要继续此任务,请导入到存储:",
  withheldHow: (n) =>
    `${n} 个事件的正文或其一部分不在文件中:可能是机密,或过长。没有它,哈希链仍然成立。`,
  trustedHow: (n) => `${n} 个事件的哈希仅凭信任。`,
};
