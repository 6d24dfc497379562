//! Constructor codes of the primitive encodings, and descriptors of the composite types.

pub(crate) const DESCRIBED: u8 = 0x00;
pub(crate) const NULL: u8 = 0x40;
pub(crate) const TRUE: u8 = 0x41;
pub(crate) const FALSE: u8 = 0x42;
pub(crate) const UINT0: u8 = 0x43;
pub(crate) const ULONG0: u8 = 0x44;
pub(crate) const LIST0: u8 = 0x45;
pub(crate) const UBYTE: u8 = 0x50;
pub(crate) const BYTE: u8 = 0x51;
pub(crate) const SMALL_UINT: u8 = 0x52;
pub(crate) const SMALL_ULONG: u8 = 0x53;
pub(crate) const SMALL_INT: u8 = 0x54;
pub(crate) const SMALL_LONG: u8 = 0x55;
pub(crate) const BOOLEAN: u8 = 0x56;
pub(crate) const USHORT: u8 = 0x60;
pub(crate) const SHORT: u8 = 0x61;
pub(crate) const UINT: u8 = 0x70;
pub(crate) const INT: u8 = 0x71;
pub(crate) const FLOAT: u8 = 0x72;
pub(crate) const CHAR: u8 = 0x73;
pub(crate) const DECIMAL32: u8 = 0x74;
pub(crate) const ULONG: u8 = 0x80;
pub(crate) const LONG: u8 = 0x81;
pub(crate) const DOUBLE: u8 = 0x82;
pub(crate) const TIMESTAMP: u8 = 0x83;
pub(crate) const DECIMAL64: u8 = 0x84;
pub(crate) const DECIMAL128: u8 = 0x94;
pub(crate) const UUID: u8 = 0x98;
pub(crate) const BIN8: u8 = 0xa0;
pub(crate) const STR8: u8 = 0xa1;
pub(crate) const SYM8: u8 = 0xa3;
pub(crate) const BIN32: u8 = 0xb0;
pub(crate) const STR32: u8 = 0xb1;
pub(crate) const SYM32: u8 = 0xb3;
pub(crate) const LIST8: u8 = 0xc0;
pub(crate) const MAP8: u8 = 0xc1;
pub(crate) const LIST32: u8 = 0xd0;
pub(crate) const MAP32: u8 = 0xd1;
pub(crate) const ARRAY8: u8 = 0xe0;
pub(crate) const ARRAY32: u8 = 0xf0;

/// Returns whether a constructor is one of the standard's.
pub(crate) fn is_known(code: u8) -> bool {
    matches!(
        code,
        NULL..=LIST0
            | UBYTE..=BOOLEAN
            | USHORT
            | SHORT
            | UINT..=DECIMAL32
            | ULONG..=DECIMAL64
            | DECIMAL128
            | UUID
            | BIN8
            | STR8
            | SYM8
            | BIN32
            | STR32
            | SYM32
            | LIST8
            | MAP8
            | LIST32
            | MAP32
            | ARRAY8
            | ARRAY32
    )
}

macro_rules! descriptors {
    ($($name:ident $code:literal $symbol:literal;)*) => {
        $(pub(crate) const $name: u64 = $code;)*

        /// Returns the numeric code of a descriptor that is written as a symbol.
        pub(crate) fn of_symbol(symbol: &[u8]) -> Option<u64> {
            $(if symbol == $symbol.as_bytes() { return Some($code); })*
            None
        }
    };
}

descriptors! {
    OPEN 0x10 "amqp:open:list";
    BEGIN 0x11 "amqp:begin:list";
    ATTACH 0x12 "amqp:attach:list";
    FLOW 0x13 "amqp:flow:list";
    TRANSFER 0x14 "amqp:transfer:list";
    DISPOSITION 0x15 "amqp:disposition:list";
    DETACH 0x16 "amqp:detach:list";
    END 0x17 "amqp:end:list";
    CLOSE 0x18 "amqp:close:list";
    ERROR 0x1d "amqp:error:list";
    RECEIVED 0x23 "amqp:received:list";
    ACCEPTED 0x24 "amqp:accepted:list";
    REJECTED 0x25 "amqp:rejected:list";
    RELEASED 0x26 "amqp:released:list";
    MODIFIED 0x27 "amqp:modified:list";
    SOURCE 0x28 "amqp:source:list";
    TARGET 0x29 "amqp:target:list";
    DELETE_ON_CLOSE 0x2b "amqp:delete-on-close:list";
    COORDINATOR 0x30 "amqp:coordinator:list";
    DECLARE 0x31 "amqp:declare:list";
    DISCHARGE 0x32 "amqp:discharge:list";
    DECLARED 0x33 "amqp:declared:list";
    TRANSACTIONAL_STATE 0x34 "amqp:transactional-state:list";
    SASL_MECHANISMS 0x40 "amqp:sasl-mechanisms:list";
    SASL_INIT 0x41 "amqp:sasl-init:list";
    SASL_CHALLENGE 0x42 "amqp:sasl-challenge:list";
    SASL_RESPONSE 0x43 "amqp:sasl-response:list";
    SASL_OUTCOME 0x44 "amqp:sasl-outcome:list";
    HEADER 0x70 "amqp:header:list";
    DELIVERY_ANNOTATIONS 0x71 "amqp:delivery-annotations:map";
    MESSAGE_ANNOTATIONS 0x72 "amqp:message-annotations:map";
    PROPERTIES 0x73 "amqp:properties:list";
    APPLICATION_PROPERTIES 0x74 "amqp:application-properties:map";
    DATA 0x75 "amqp:data:binary";
    AMQP_SEQUENCE 0x76 "amqp:amqp-sequence:list";
    AMQP_VALUE 0x77 "amqp:amqp-value:*";
    FOOTER 0x78 "amqp:footer:map";
}
