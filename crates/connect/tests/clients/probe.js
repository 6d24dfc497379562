// What a program with rhea expects of a broker, against a listener: node probe.js PORT. Prints `ok NAME` for each part; the first failure ends it.
'use strict';
const rhea = require('rhea');
const assert = require('node:assert');

const port = Number(process.argv[2]);
const deadline = setTimeout(() => { console.log('FAILED: time is up'); process.exit(1); }, 60_000);

function connect(options) {
    const container = rhea.create_container();
    const connection = container.connect({ port, host: '127.0.0.1', reconnect: false, ...options });
    connection.on('disconnected', () => {});
    return connection;
}

const next = (emitter, event) => new Promise((resolve) => emitter.once(event, resolve));

async function sendAll(connection, address, messages) {
    const sender = connection.open_sender(address);
    await next(sender, 'sendable');
    const outcomes = [];
    for (const message of messages) {
        const settled = new Promise((resolve) => {
            const seen = (context) => resolve(context.delivery.remote_state ?? context.delivery.state);
            sender.once('accepted', seen);
            sender.once('rejected', seen);
            sender.once('released', seen);
        });
        sender.send(message);
        outcomes.push(await settled);
        for (const event of ['accepted', 'rejected', 'released']) sender.removeAllListeners(event);
    }
    sender.close();
    return outcomes;
}

async function receive(connection, address, count, then) {
    const receiver = connection.open_receiver({ source: address, credit_window: 0, autoaccept: false });
    await next(receiver, 'receiver_open');
    const found = [];
    for (let i = 0; i < count; i++) {
        const arrives = next(receiver, 'message');
        receiver.add_credit(1);
        const context = await arrives;
        found.push(context.message);
        (then ?? ((c) => c.delivery.accept()))(context);
    }
    return [found, receiver];
}

async function main() {
    let connection = connect({});
    await next(connection, 'connection_open');

    const sent = {
        message_id: rhea.generate_uuid(), correlation_id: 'c', reply_to: 'ORDER', subject: 's', content_type: 'text/plain',
        group_id: 'g', group_sequence: 4, durable: true, priority: 2,
        application_properties: { a: 'x', n: 7, b: true }, message_annotations: { 'x-opt-note': 'kept' },
        body: { deep: [1, 'two', { three: 3 }] },
    };
    await sendAll(connection, 'TYPES', [sent, { body: Buffer.from([0, 1, 2]) }, { body: 'text' }, { body: null }]);
    let [found, receiver] = await receive(connection, 'TYPES', 4);
    for (const key of ['message_id', 'correlation_id', 'reply_to', 'subject', 'content_type', 'group_id', 'group_sequence', 'durable', 'priority']) {
        assert.deepStrictEqual(found.find((m) => m.subject === 's')[key], sent[key], key);
    }
    const whole = found.find((m) => m.subject === 's');
    assert.deepStrictEqual({ ...whole.application_properties }, sent.application_properties);
    assert.strictEqual(whole.message_annotations['x-opt-note'], 'kept');
    assert.deepStrictEqual(JSON.parse(JSON.stringify(whole.body)), sent.body);
    receiver.close();
    console.log('ok sections');

    await sendAll(connection, 'RECOVER', [{ body: 'r', durable: true }]);
    [, receiver] = await receive(connection, 'RECOVER', 1, (c) => c.delivery.release({ delivery_failed: false }));
    receiver.close();
    [, receiver] = await receive(connection, 'RECOVER', 1, (c) => c.delivery.modified({ delivery_failed: true, undeliverable_here: false }));
    receiver.close();
    [found, receiver] = await receive(connection, 'RECOVER', 1, (c) => c.delivery.reject({ condition: 'app:bad', description: 'no such customer' }));
    assert.strictEqual(found[0].delivery_count, 1);
    receiver.close();
    [found, receiver] = await receive(connection, 'DEAD.LETTER', 1);
    assert.strictEqual(found[0].body, 'r');
    assert.match(found[0].delivery_annotations['x-opt-quayline-reason'], /app:bad: no such customer/);
    receiver.close();
    console.log('ok outcomes');

    // Drain says that there is nothing.
    receiver = connection.open_receiver({ source: 'ORDER', credit_window: 0 });
    await next(receiver, 'receiver_open');
    receiver.add_credit(5);
    const drained = next(receiver, 'receiver_drained');
    receiver.drain_credit();
    await drained;
    receiver.close();
    console.log('ok drain');

    // A dynamic source is a queue of its own, which ends with its link.
    receiver = connection.open_receiver({ source: { dynamic: true } });
    await next(receiver, 'receiver_open');
    const address = receiver.source.address;
    assert.ok(address.length > 10);
    const reply = next(receiver, 'message');
    await sendAll(connection, address, [{ body: 'reply' }]);
    assert.strictEqual((await reply).message.body, 'reply');
    receiver.close();
    await next(receiver, 'receiver_close');
    console.log('ok dynamic');

    const sender = connection.open_sender('NO.SUCH.QUEUE');
    const refused = await next(sender, 'sender_error');
    assert.strictEqual(refused.sender.error.condition, 'amqp:not-found');
    console.log('ok refused');

    // Settled transfers, both ways.
    const quick = connection.open_sender({ target: 'ORDER', snd_settle_mode: 1 });
    await next(quick, 'sendable');
    for (let i = 0; i < 100; i++) quick.send({ body: i });
    receiver = connection.open_receiver({ source: 'ORDER', snd_settle_mode: 1 });
    const all = [];
    await new Promise((resolve) => receiver.on('message', (c) => { all.push(c.message.body); if (all.length === 100) resolve(); }));
    assert.deepStrictEqual(all, [...Array(100).keys()]);
    receiver.close();
    console.log('ok settled');

    connection.close();
    await next(connection, 'connection_close');
    console.log('ok close');
    clearTimeout(deadline);
    process.exit(0);
}

main().catch((failed) => { console.log('FAILED', failed); process.exit(1); });
