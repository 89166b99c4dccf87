CREATE TYPE strmadmin.region_pri_msg AS OBJECT(
  region   VARCHAR2(100),
  priority NUMBER(3, 0),
  message  VARCHAR2(3000))
/
BEGIN
  DBMS_STREAMS_ADM.ADD_MESSAGE_RULE (
    message_type   => 'strmadmin.region_pri_msg',
    rule_condition => q'[:msg.region = 'EUROPE']' || ' AND :msg.priority = ''1'' ',
    streams_type   => 'dequeue', streams_name => 'msg_client', queue_name => 'streams_queue',
    inclusion_rule => TRUE);
END;
/
