import { Select } from "../../kit/field.tsx";

/** Chooses a UTC month, from the present one back to the first. */
export function MonthSelect({
  first,
  value,
  onText,
}: {
  /** Absent while it is not known. */
  first?: string | undefined;
  value: string;
  onText: (month: string) => void;
}) {
  return (
    <Select
      isSmall
      aria-label="Month"
      options={listMonths(value, first).map((month) => [month, formatMonth(month)] as const)}
      value={value}
      onText={onText}
    />
  );
}

function listMonths(shown: string, first: string | undefined): string[] {
  const now = new Date();
  const toMonth = (back: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back));
  const months: string[] = [];
  for (let back = 0; ; back++) {
    const month = toMonth(back).toISOString().slice(0, 7);
    const isBefore = first === undefined ? back > 0 : month < first;
    if (isBefore && (shown === "" || month < shown)) return months;
    months.push(month);
  }
}

export function formatMonth(month: string): string {
  return new Date(`${month}-01T00:00:00Z`).toLocaleDateString("en-US", {
    month: "long",
    year: "numeric",
    timeZone: "UTC",
  });
}
