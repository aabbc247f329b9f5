import { type FormEvent, useState } from "react";
import { ApiError, toMessage } from "../data/api.ts";

/** Runs an action of the user: whether it is in progress, and the error of the last run. */
export function useAction(act: () => Promise<unknown>) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  /** Returns whether the action succeeded. */
  const run = async (): Promise<boolean> => {
    setBusy(true);
    setError(undefined);
    try {
      await act();
      return true;
    } catch (thrown) {
      setError(thrown);
      return false;
    } finally {
      setBusy(false);
    }
  };
  const isAbout = (fields: readonly string[]) =>
    error instanceof ApiError && error.param !== undefined && fields.includes(error.param);
  return {
    run,
    /** The `onSubmit` handler of a form. */
    submit: (event: FormEvent) => {
      event.preventDefault();
      void run();
    },
    isBusy,
    clear: () => setError(undefined),
    /** The error message of a field. */
    fieldError: (...fields: string[]) => (isAbout(fields) ? toMessage(error) : undefined),
    /** The error message to show above the form: of any error that is not about one of these fields. */
    formError: (...fields: string[]) => (error === undefined || isAbout(fields) ? undefined : toMessage(error)),
  };
}
