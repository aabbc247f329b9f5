/**
 * Somebody who searches for a key that was found somewhere pastes all of it. Its secret part never gets into an address, neither
 * of a page nor of a request: those stay in the history of the browser and in the logs of proxies.
 */

/** A key or token of the gateway; the part behind the id is its secret, also while it is typed. */
const ownKey = /((?:sk-mg-(?:admin-)?|mg-[ar]t-)[0-9A-Za-z]{4,64})-(?!…(?:[\s&]|$))(?!%E2%80%A6(?:[\s&]|$))[^\s&#]+/g;
/** Keys of other gateways and providers, and tokens: nothing of them but their beginning is said. */
const otherSecrets = /\b(sk-(?!mg-)|gh[opsu]_|eyJ)[0-9A-Za-z_.-]{16,}/g;
/** One that was pasted behind other text. Words such as task-management have no long part with a figure in it. */
const pastedBehind = /(?<=\w)(sk-(?!mg-)(?:[a-z]+\d{0,2}-)*)(?=[A-Za-z_]*\d)\w{16,}[\w.-]*/g;

/** A text with the beginning of each secret alone: `sk-mg-<id>-…`. */
export function withoutSecrets(text: string): string {
  return text.replace(ownKey, "$1-…").replace(otherSecrets, "$1…").replace(pastedBehind, "$1…");
}
