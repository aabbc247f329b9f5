import { useEffect, useState } from "react";

const minuteMs = 60_000;

/** Has a part of the page drawn anew each minute, for the ages of what it shows. */
export function useMinutes(): void {
  const [, setMinute] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setMinute((minute) => minute + 1), minuteMs);
    return () => clearInterval(timer);
  }, []);
}
