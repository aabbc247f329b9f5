/** The outcome of a policy in a call, as the API returns it. */
interface PolicyResult {
  readonly policy: string;
  readonly phase: string;
  readonly result: "allow" | "deny" | "replace" | "failed";
  readonly label: string | null;
  readonly count: number;
}

const words: Readonly<Record<PolicyResult["result"], string>> = {
  allow: "allowed the",
  deny: "refused the",
  replace: "replaced text in the",
  failed: "failed at the",
};

/** Such as `no-emails replaced text in the answer (email, 2)`. */
export function toPolicySentence({ policy, phase, result, label, count }: PolicyResult): string {
  return `${policy} ${words[result]} ${phase} (${label === null ? "" : `${label}, `}${count})`;
}
