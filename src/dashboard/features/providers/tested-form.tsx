import { useEffect, useRef, useState } from "react";
import { Callout } from "../../kit/feedback.tsx";
import { useForm } from "../../kit/form.tsx";
import { toast } from "../../kit/toast.tsx";
import { useModelNames } from "../models/api.ts";
import type { TestResult } from "./api.ts";
import { describeTest } from "./health.tsx";

interface TestedAction<Values> {
  /** Calls the provider with the entered values; `undefined` if there is nothing to test. */
  test: (values: Values) => Promise<TestResult | undefined>;
  save: (values: Values) => Promise<unknown>;
  nameOf: (values: Values) => string;
}

/**
 * A form that tests its values before it saves them. If the test fails, nothing is saved until the form is sent again.
 */
export function useTestedForm<Values extends object>(initial: Values, { test, save, nameOf }: TestedAction<Values>) {
  const modelNameOf = useModelNames();
  const [failed, setFailed] = useState<{ text: string; result: TestResult }>();
  const form = useForm(initial, async (values) => {
    const text = JSON.stringify(values);
    const isConfirmed = failed?.text === text;
    setFailed(undefined);
    const result = isConfirmed ? undefined : await test(values);
    if (result?.ok === false) {
      setFailed({ text, result });
      return;
    }
    await save(values);
    if (result !== undefined) toast(describeTest(nameOf(values), result, modelNameOf));
  });
  const failure = failed?.text === JSON.stringify(form.values) ? failed.result : undefined;
  return {
    ...form,
    /** Why the test of these values failed. Shown next to the button that saves them anyway. */
    failure: failure && describeTest(nameOf(form.values), failure, modelNameOf),
  };
}

/** The result of the failed test, within the form. */
export function TestFailure({ failure }: { failure: string | undefined }) {
  const element = useRef<HTMLDivElement>(null);
  // In a long dialog it may be out of sight.
  useEffect(() => {
    if (failure !== undefined) element.current?.scrollIntoView({ block: "nearest" });
  }, [failure]);
  return (
    <div ref={element}>
      <Callout tone="bad">{failure && `${failure}. Nothing is saved yet.`}</Callout>
    </div>
  );
}
