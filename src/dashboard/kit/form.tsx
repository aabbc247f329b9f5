import { type ComponentProps, type ReactNode, useState } from "react";
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
  const { fieldError, formError, clear, ...action } = useAction(() => act(values));
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
    /** The error that is about no field. */
    error: formError(...Object.keys(initial)),
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
