# Print what Hermes makes of a config.yaml: the address of one provider, the windows of its
# models, the output limit of the profile. It reads an entry of `providers` or of
# `custom_providers` in block style, two columns a level.
function or_null(value) { return value == "" ? "null" : value }

{
    sub(/[ \t]*(#.*)?$/, "")
    match($0, /^[ -]*/)
    indent = RLENGTH
    line = name = value = substr($0, indent + 1)
    sub(/: .*$|:$/, "", name)
    gsub(/"/, "", name)
    if (!sub(/^[^ ]*: +/, "", value)) value = ""
}
line == "" { next }
indent == 0 { section = name; ours = 0; next }
/^- / || (section == "providers" && indent == 2) { ours = models = 0 }
section == "model" && name == "max_tokens" { output = value }
section == "providers" && indent == 2 { ours = name == provider }
section == "custom_providers" && name == "name" { ours = value == provider }
!ours { next }
name == "base_url" { address = value }
name == "models" { models = indent; next }
models && indent == models + 2 { alias = name; order[++count] = alias }
name == "context_length" { window[alias] = value }
name == "supports_vision" { vision[alias] = value ~ /^(true|yes)$/ ? "true" : "false" }

END {
    printf "\nfleetsync {\"address\":\"%s\",\"max_tokens\":%s,", address, or_null(output)
    printf "\"aliases\":{"
    for (i = 1; i <= count; i++) {
        printf "%s\"%s\":", (i > 1 ? "," : ""), order[i]
        printf "{\"context_length\":%s,", or_null(window[order[i]])
        printf "\"supports_vision\":%s}", or_null(vision[order[i]])
    }
    print "}}"
}
