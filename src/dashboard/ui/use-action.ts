import { useState } from "react";
import { messageOf, Refusal } from "../data/api.ts";

/** Something that a person does: whether it is under way, and what came in between. */
export function useAction<A extends unknown[]>(act: (...args: A) => Promise<unknown>) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const run = async (...args: A): Promise<boolean> => {
    setBusy(true);
    setError(undefined);
    try {
      await act(...args);
      return true;
    } catch (thrown) {
      setError(thrown);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return {
    run,
    isBusy,
    error,
    clear: () => setError(undefined),
    /** What is wrong with a field. */
    wrongOf: (...params: string[]) =>
      error instanceof Refusal && error.param !== undefined && params.includes(error.param) ? error.message : undefined,
    /** What is wrong, and with none of these fields. */
    otherThan: (...params: string[]) =>
      error === undefined || (error instanceof Refusal && error.param !== undefined && params.includes(error.param))
        ? undefined
        : messageOf(error),
  };
}
