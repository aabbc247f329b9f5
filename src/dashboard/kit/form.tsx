import { type ComponentProps, type ReactNode, useRef, useState } from "react";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { Callout } from "./feedback.tsx";
import { TextField } from "./field.tsx";
import { useAction } from "./use-action.ts";

type TextName<Values> = { [Name in keyof Values]: Values[Name] extends string ? Name : never }[keyof Values] & string;

/**
 * The state of a form: its values, whether it is being sent, and the error of the last attempt. Values have the names
 * of the API's parameters, so an error about a parameter is shown at its field.
 */
export function useForm<Values extends object>(initial: Values, act: (values: Values) => Promise<unknown>) {
  const [values, setValues] = useState(initial);
  const { formError, clear, ...action } = useAction(() => act(values));
  // An error about a field that is not on the page would be shown nowhere. Fields of nested components are rendered after the form.
  const fields = useRef<ReadonlySet<string>>(new Set());
  const before = fields.current;
  const shown = new Set<string>();
  fields.current = shown;
  const fieldError = (...names: string[]) => {
    for (const name of names) shown.add(name);
    return action.fieldError(...names);
  };
  const set = (change: Partial<Values>) => setValues((values) => ({ ...values, ...change }));
  return {
    ...action,
    values,
    set,
    reset: () => {
      setValues(initial);
      clear();
    },
    fieldError,
    /** The error that is about no field of the page. */
    get error() {
      return formError(...before, ...shown);
    },
    /** The props of the field for a text. */
    field: (name: TextName<Values>) => ({
      value: values[name] as string,
      onText: (text: string) => set({ [name]: text } as Partial<Values>),
      error: fieldError(name),
    }),
  };
}

type FormState = Pick<ReturnType<typeof useForm>, "submit" | "isBusy" | "error">;

/** A form with its error above the fields. The server validates, not the browser, unless `isNative`. */
export function Form({
  form,
  className = "stack",
  isNative = false,
  children,
}: {
  form: FormState;
  className?: string;
  isNative?: boolean;
  children: ReactNode;
}) {
  return (
    <form className={className} onSubmit={form.submit} noValidate={!isNative}>
      <Callout tone="bad">{form.error}</Callout>
      {children}
    </form>
  );
}

interface SubmitProps {
  form: FormState;
  label: string;
  /** The label while the form is being sent. */
  busyLabel?: string;
  look?: string;
  /** Whether all required fields are filled in. */
  isComplete?: boolean;
}

export function Submit({
  form: { isBusy },
  label,
  busyLabel = label,
  look = "primary",
  isComplete = true,
}: SubmitProps) {
  return (
    <Button type="submit" look={look} disabled={isBusy || !isComplete}>
      {isBusy ? busyLabel : label}
    </Button>
  );
}

/** A dialog with a form, which saves something unless the button has another label. */
export function FormDialog({
  form,
  label = "Save",
  busyLabel = "Saving…",
  isComplete = true,
  children,
  ...dialog
}: ComponentProps<typeof Dialog> & Partial<Omit<SubmitProps, "form" | "look">> & Pick<SubmitProps, "form">) {
  return (
    <Dialog {...dialog}>
      <form onSubmit={form.submit} noValidate>
        <div className="dialog-body">
          <Callout tone="bad">{form.error}</Callout>
          {children}
        </div>
        <footer className="dialog-foot">
          <Button onClick={dialog.onClose}>Cancel</Button>
          <Submit form={form} label={label} busyLabel={busyLabel} isComplete={isComplete} />
        </footer>
      </form>
    </Dialog>
  );
}

/** A dialog that asks for a name alone; `act` gets it without the space around it. */
export function NameDialog({
  name = "",
  lengthMax,
  act,
  ...dialog
}: Omit<ComponentProps<typeof FormDialog>, "form" | "isComplete" | "children"> & {
  /** The present name. */
  name?: string;
  lengthMax: number;
  act: (name: string) => Promise<unknown>;
}) {
  const form = useForm({ name }, (values) => act(values.name.trim()));
  return (
    <FormDialog {...dialog} form={form} isComplete={form.values.name.trim() !== ""}>
      <TextField label="Name" autoComplete="off" maxLength={lengthMax} {...form.field("name")} />
    </FormDialog>
  );
}
