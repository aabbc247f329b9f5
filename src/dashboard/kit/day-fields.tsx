/** Two fields for the first and the last UTC day of a span; `onDay` gets the one that changed. */
export function DayFields({
  startDate,
  endDate,
  onDay,
}: {
  startDate: string;
  endDate: string;
  onDay: (day: { from: string } | { to: string }) => void;
}) {
  const field = (label: string, value: string, toDay: (day: string) => { from: string } | { to: string }) => (
    <input
      className="input input-small"
      type="date"
      aria-label={label}
      value={value}
      max={new Date().toISOString().slice(0, 10)}
      onChange={(event) => event.target.value !== "" && onDay(toDay(event.target.value))}
    />
  );
  return (
    <>
      {field("From (UTC)", startDate, (from) => ({ from }))}
      {field("To (UTC)", endDate, (to) => ({ to }))}
    </>
  );
}
