import { Icon, type IconName } from "./icon.tsx";

/** A segmented control: one of a few options, shown by name or by icon. */
export function Segmented<T extends string>({
  label,
  value,
  options,
  onChoose,
}: {
  label: string;
  value: T;
  options: readonly (readonly [value: T, name: string, icon?: IconName])[];
  onChoose: (value: T) => void;
}) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would draw its legend in the border
    <div className="seg" role="group" aria-label={label}>
      {options.map(([key, name, icon]) => (
        <button
          key={key}
          type="button"
          aria-pressed={key === value}
          {...(icon !== undefined && { "aria-label": name, title: name })}
          onClick={() => onChoose(key)}
        >
          {icon === undefined ? name : <Icon name={icon} size={16} />}
        </button>
      ))}
    </div>
  );
}
